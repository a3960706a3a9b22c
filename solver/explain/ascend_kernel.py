"""Why a choice of an Ascend kernel's buffers is impossible, or what it costs; what limits the whole kernel."""

from collections.abc import Mapping
from dataclasses import replace

from warpwright.solver.ascend import kernel_capacity
from warpwright.solver.ascend.kernel_solve import solve_graph
from warpwright.solver.ascend.pins import merged_pins
from warpwright.solver.domain.errors import PinError
from warpwright.solver.domain.explanation import Explanation, Relaxation
from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.kernel import KernelGraph
from warpwright.solver.domain.pins import BufferPin, Pins
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.schedule import BufferSchedule
from warpwright.solver.domain.verdict import Conflict, Feasible, Infeasible, ProvenOptimal, Unknown, Verdict
from warpwright.solver.explain.ascend_ways import ways_out
from warpwright.solver.profiles.pin_domains import check_pin_domains

__all__ = ["explain_graph"]


def explain_graph(
    graph: KernelGraph,
    profile: HardwareProfile,
    why: str | None = None,
    *,
    pins: Pins | None = None,
    engine: str = "exact",
) -> Explanation:
    """Why a choice is impossible, or what it costs; without ``why``, what limits the whole kernel.

    Choices: ``buffers.NAME.versions=N``, ``buffers.NAME.mode=MODE``, ``buffers.NAME.manual=N``, ``loops.NAME.interval=CYCLES``.
    """
    base = pins or Pins()
    best = solve_graph(graph, profile, base, engine=engine)
    if why is None:
        found = _answer("", best, graph, profile, "What limits this kernel")
        return _with_ways(found, graph, profile, base, Pins(), engine)
    asked, interval = _read(why, graph)
    check_pin_domains(asked, profile, "--why")
    verdict = solve_graph(graph, profile, merged_pins(base, asked), engine=engine)
    if interval is not None and isinstance(verdict, ProvenOptimal | Feasible):
        return _interval(why, interval, verdict, graph, profile)
    if (kept := _not_kept(asked, verdict)) is not None:
        return replace(kept, question=why)
    cost = ""
    if isinstance(best, ProvenOptimal | Feasible) and isinstance(verdict, ProvenOptimal | Feasible):
        cost = f"; best is {_said(best)}"
    explanation = _with_ways(_answer(why, verdict, graph, profile, "Possible"), graph, profile, base, asked, engine)
    return replace(explanation, answer=explanation.answer.rstrip(".") + cost + ".")


def _read(why: str, graph: KernelGraph) -> tuple[Pins, tuple[str, int] | None]:
    pins: list[BufferPin] = []
    interval: tuple[str, int] | None = None
    for choice in why.split(","):
        path, equals, value = (part.strip() for part in choice.partition("="))
        match path.split("."):
            case ["buffers", name, "versions"] if equals and _whole(value):
                pins.append(BufferPin(name, int(value), "auto" if value == "1" else None))
            case ["buffers", name, "mode"] if equals:
                pins.append(BufferPin(name, None, value))
            case ["buffers", name, "manual"] if equals and _whole(value):
                pins.append(BufferPin(name, manual_versions=int(value)))
            case ["loops", scope, "interval"] if equals and value.isdecimal():
                graph.scope(scope)
                interval = (scope, int(value))
            case _:
                raise PinError(
                    f"cannot read {choice.strip()!r}: buffers.NAME.versions=N, buffers.NAME.mode=MODE, "
                    "buffers.NAME.manual=N or loops.NAME.interval=CYCLES",
                    code="why-unreadable",
                    place=choice.strip(),
                )
    return Pins(buffers=tuple(pins)), interval


def _whole(value: str) -> bool:
    return value.removeprefix("-").isdecimal()


def _answer(why: str, verdict: Verdict, graph: KernelGraph, profile: HardwareProfile, lead: str) -> Explanation:
    if isinstance(verdict, Unknown):
        return Explanation(why, None, f"Not decided: {verdict.reason}.", verdict=verdict)
    if isinstance(verdict, Infeasible):
        named = "; ".join(dict.fromkeys(each.message for each in verdict.conflicts))
        return Explanation(why, False, f"Impossible: {named}.", verdict.conflicts, verdict=verdict)
    schedule, certificate = verdict.schedule, verdict.certificate
    assert isinstance(schedule, BufferSchedule)
    counts = {entry.buffer: entry.versions for entry in schedule.buffers}
    return Explanation(
        why,
        True,
        f"{lead}: {_said(verdict)}.",
        facts=_facts(graph, profile, counts),
        bounds=certificate.bounds,
        binding=certificate.binding,
        verdict=verdict,
    )


def _not_kept(asked: Pins, verdict: Verdict) -> Explanation | None:
    """The answer for counts that the compiler does not follow: of buffers that no loop may keep versions of."""
    if not isinstance(verdict, ProvenOptimal | Feasible) or not isinstance(verdict.schedule, BufferSchedule):
        return None
    has = {entry.buffer: entry.versions for entry in verdict.schedule.buffers}
    conflicts, ways = [], []
    for pin in asked.buffers:
        versions = has.get(pin.buffer, 1)
        if pin.versions is not None and pin.versions != versions:
            message = (
                f"{pin.buffer} keeps {versions} version{'' if versions == 1 else 's'}: no loop may keep more of it"
            )
            conflicts.append(Conflict("buffer_versions", message, place=pin.buffer))
            ways.append((pin.buffer, versions))
    if not conflicts:
        return None
    text = " and ".join(f"{count} version{'' if count == 1 else 's'} of {name}" for name, count in ways)
    choice = ", ".join(f"buffers.{name}.versions={count}" for name, count in ways)
    answer = f"Impossible: {'; '.join(each.message for each in conflicts)}."
    # The verdict is the kernel's with these counts: it was solved.
    return Explanation("", False, answer, tuple(conflicts), (Relaxation(f"with {text}", choice),), verdict=verdict)


def _with_ways(
    found: Explanation, graph: KernelGraph, profile: HardwareProfile, base: Pins, asked: Pins, engine: str
) -> Explanation:
    """An impossible choice with the changes that were found to help."""
    if found.possible is not False:
        return found
    return replace(found, relaxations=ways_out(graph, profile, base, asked, found.conflicts, engine))


def _interval(
    why: str, asked: tuple[str, int], verdict: ProvenOptimal | Feasible, graph: KernelGraph, profile: HardwareProfile
) -> Explanation:
    schedule = verdict.schedule
    assert isinstance(schedule, BufferSchedule)
    scope, cycles = asked
    loop = next((loop for loop in schedule.loops if loop.scope == scope), None)
    if loop is None or loop.initiation_interval_cycles is None or loop.initiation_interval_cycles <= cycles:
        return _answer(why, verdict, graph, profile, "Possible")
    least = loop.initiation_interval_cycles
    reason = next((line for line in verdict.certificate.binding if line.startswith(f"{scope}: ")), scope)
    conflict = Conflict(
        "initiation_interval",
        f"{scope} cannot issue every {cycles} cycles: {least} is the proven minimum ({reason.partition(': ')[2]})",
        f"choose {least} cycles or more",
        scope,
    )
    if isinstance(verdict, Feasible):
        return Explanation(why, None, f"Not decided: {least} cycles is the best known.", verdict=verdict)
    relaxation = Relaxation(f"with an interval of {least} cycles", f"loops.{scope}.interval={least}")
    return Explanation(why, False, f"Impossible: {conflict.message}.", (conflict,), (relaxation,), verdict=verdict)


def _said(verdict: ProvenOptimal | Feasible) -> str:
    schedule = verdict.schedule
    assert isinstance(schedule, BufferSchedule)
    loops = ", ".join(
        f"{loop.scope} issues every {loop.initiation_interval_cycles} cycles"
        for loop in schedule.loops
        if loop.initiation_interval_cycles is not None
    )
    counts = ", ".join(f"{b.buffer} {b.versions}" for b in schedule.buffers if b.eligible)
    return f"{loops} with versions {counts}" if counts else loops


def _facts(graph: KernelGraph, profile: HardwareProfile, counts: Mapping[str, int]) -> tuple[Fact, ...]:
    return tuple(
        Fact(
            use.memory.value,
            use.needed_bytes,
            use.limit_bytes,
            "bytes",
            tuple((p.name, p.bytes) for p in use.live),
        )
        for use in kernel_capacity.uses(graph, profile, counts)
        if use.live
    )
