"""The ``why`` grammar: a question about one or several choices, read into pins and caps (docs/explain.md).

``choice ("," choice)*`` with choices such as ``pipelines.as_bs.depth=4``, ``roles.consumer.registers=168``,
``roles.load.warps=4..5``, ``consumer_warpgroups=3``, ``ops.gemm.stage=1``, ``pipelines.merged=false``, ``loops.k.interval=1024``.
"""

from dataclasses import dataclass, field, replace

from warpwright.solver.domain.errors import PinError
from warpwright.solver.domain.pins import DepthPin, Pins, PipelinePin, PlacementPin, RolePin, StagePin
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import WarpProblem, check_pins, merge_pins

__all__ = ["Question", "parse"]


@dataclass(frozen=True, slots=True)
class Question:
    """The question: its text, the equivalent pins, and limits of loops' intervals in cycles."""

    text: str
    pins: Pins = field(default_factory=Pins)
    intervals: tuple[tuple[str, int], ...] = ()


def parse(why: str, problem: WarpProblem) -> Question:
    """Reads a question.

    Raises:
        PinError: ``why-unreadable`` if it does not follow the grammar, or a pin's own code if it names nothing here.
    """
    question = Question(why.strip())
    for choice in why.split(","):
        path, equals, value = (part.strip() for part in choice.partition("="))
        if not equals or not path or not value:
            raise _unreadable(choice, "a choice has the form PATH=VALUE")
        question = _read(question, path.split("."), value, problem)
    check_pins(problem.graph, question.pins)
    return question


def _read(question: Question, path: list[str], value: str, problem: WarpProblem) -> Question:
    match path:
        case ["loops", scope, "interval"]:
            if scope not in problem.scopes:
                raise _unreadable(scope, "there is no such loop")
            return replace(question, intervals=(*question.intervals, (scope, _whole(value))))
        case ["pipelines", "merged"] | ["merged_pipelines"]:
            return _with(question, Pins(merged_pipelines=_switch(value)))
        case ["pipelines", name, "depth"]:
            buffers = buffers_of(name, problem)
            pins = Pins(depths=tuple(DepthPin(buffer, _whole(value)) for buffer in buffers))
            together = (PipelinePin(buffers),) if len(buffers) > 1 else ()
            return _with(question, replace(pins, pipelines=together))
        case ["pipelines", name, "buffers"]:
            return _with(question, Pins(pipelines=(PipelinePin(tuple(value.split("+"))),))) if name else question
        case ["buffers", name, "depth"]:
            return _with(question, Pins(depths=(DepthPin(name, _whole(value)),)))
        case ["roles", role, "registers"]:
            return _with(question, Pins(roles=(RolePin(role, registers_per_thread=_whole(value)),)))
        case ["roles", role, "warps"]:
            low, dots, high = value.partition("..")
            if not dots:
                raise _unreadable(value, "a range has the form LO..HI, without HI")
            return _with(question, Pins(roles=(RolePin(role, _whole(low), _whole(high)),)))
        case ["roles", "consumer", "warpgroups"] | ["consumer_warpgroups"]:
            return _with(question, Pins(consumer_warpgroups=_whole(value)))
        case ["ops", op, "role"]:
            return _with(question, Pins(placements=(PlacementPin(op, value),)))
        case ["ops", op, "stage"]:
            return _with(question, Pins(stages=(StagePin(op, _whole(value)),)))
        case ["store_role"]:
            return _with(question, Pins(store_role=_switch(value)))
        case ["software_pipelining"]:
            return _with(question, Pins(software_pipelining=_switch(value)))
    raise _unreadable(".".join(path), "there is no such choice")


def buffers_of(name: str, problem: WarpProblem) -> tuple[str, ...]:
    """Buffers that a pipeline's name refers to: a buffer, several joined by ``_`` or ``+``, or their initials (``ab``).

    Raises:
        PinError: ``why-unreadable`` if no buffer that changes hands has this name.
    """
    channels = [channel.buffer for channel in structure_of(problem).channels]
    wanted = name.lower()
    for first in range(len(channels)):
        for last in range(first + 1, len(channels) + 1):
            group = tuple(channels[first:last])
            lower = [buffer.lower() for buffer in group]
            spellings = ("_".join(lower), "+".join(lower), "".join(buffer[0] for buffer in lower))
            if wanted in spellings and (wanted != spellings[2] or len(group) > 1 or wanted == lower[0]):
                return group
    initials = [(buffer,) for buffer in channels if buffer.lower().startswith(wanted)]
    if len(initials) == 1:
        return initials[0]
    raise _unreadable(
        name, f"there is no pipeline with this name; buffers that change hands: {', '.join(channels) or 'none'}"
    )


def _with(question: Question, pins: Pins) -> Question:
    return replace(question, pins=merge_pins(question.pins, pins))


def _whole(text: str) -> int:
    if not text.strip().isdecimal():
        raise _unreadable(text, "it must be a whole number")
    return int(text)


def _switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise _unreadable(text, "it must be true or false")
    return text == "true"


def _unreadable(what: str, why: str) -> PinError:
    return PinError(f"cannot read {what.strip()!r}: {why}", code="why-unreadable", place=what.strip())
