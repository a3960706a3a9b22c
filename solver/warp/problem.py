"""The closed problem of one CUDA kernel: graph, device facts and pins, and nothing else.

A :class:`WarpProblem` is plain data with a JSON form, so a solve is a pure function of it: it can be saved, replayed,
fuzzed and cached. Everything the families derive (channels, live registers, durations) is a function of this value.
"""

from dataclasses import dataclass, fields, replace
from functools import cached_property

from pydantic import TypeAdapter

from warpwright.solver.device.limits import DeviceLimits
from warpwright.solver.device.machine import Machine, machine
from warpwright.solver.device.stream_times import StreamTimes
from warpwright.solver.device.trips import Trips, count_trips
from warpwright.solver.domain.documents import dumps
from warpwright.solver.domain.errors import DocumentError, NotApplicable, PinError
from warpwright.solver.domain.identity import digest_text
from warpwright.solver.domain.kernel import KernelGraph, Op, Scope, TargetFamily
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.profile import HardwareProfile
from warpwright.solver.domain.source_order import SourceOrder

__all__ = ["CONSTRAINT_SET", "CONSUMER", "LOAD", "MMA", "ROLES", "STORE", "WarpProblem", "close_problem"]

CONSTRAINT_SET = "cuda-warp/7"
"""Version of the whole set of families. It changes whenever a family accepts or refuses a schedule differently than before."""

CONSUMER, LOAD, MMA, STORE = "consumer", "load", "mma", "store"
ROLES = (CONSUMER, LOAD, MMA, STORE)
"""Role names of solved schedules, in the order of their warps."""


@dataclass(frozen=True)
class WarpProblem:
    """One kernel on one device with the user's pins.

    ``relaxed`` names families that are left out; explanations and tests use it, answers for users never do.
    """

    graph: KernelGraph
    machine: Machine
    pins: Pins
    profile_name: str
    profile_digest: str
    constraint_set: str = CONSTRAINT_SET
    relaxed: tuple[str, ...] = ()

    @property
    def device(self) -> DeviceLimits:
        """What the device can hold."""
        return self.machine.limits

    def on(self, limits: DeviceLimits) -> "WarpProblem":
        """The same problem on a device with other limits."""
        return replace(self, machine=replace(self.machine, limits=limits))

    @cached_property
    def trips(self) -> Trips:
        """How often every loop runs, or is assumed to run."""
        return count_trips(self.graph, self.machine.sms)

    @cached_property
    def times(self) -> StreamTimes:
        """Least times of the operations on this device."""
        return StreamTimes(self.graph, self.machine, self.trips)

    @cached_property
    def digest(self) -> str:
        """Digest of the problem's JSON form; what a certificate refers to."""
        return digest_text(self.to_json())

    @cached_property
    def source(self) -> SourceOrder:
        """Where the kernel's operations stand."""
        return SourceOrder(self.graph)

    @property
    def ops(self) -> dict[str, Op]:
        """Operations by id."""
        return self.source.ops

    @property
    def scopes(self) -> dict[str, Scope]:
        """Scopes by id."""
        return self.source.scopes

    def to_json(self) -> str:
        """The problem as JSON text; equal problems give equal bytes."""
        return _ADAPTER.dump_json(self).decode()

    @staticmethod
    def from_json(text: str | bytes) -> "WarpProblem":
        """The problem of :meth:`to_json`.

        Raises:
            DocumentError: the text is not such a problem, or has another constraint set.
        """
        try:
            problem = _ADAPTER.validate_json(text)
        except ValueError as error:
            raise DocumentError(f"not a warp problem: {error}", place="/") from error
        if problem.constraint_set != CONSTRAINT_SET:
            message = f"constraint set {problem.constraint_set!r}, but this version has {CONSTRAINT_SET!r}"
            raise DocumentError(message, code="document-schema", place="/constraint_set")
        return problem

    def with_pins(self, pins: Pins) -> "WarpProblem":
        """The same problem with more pins."""
        return replace(self, pins=merge_pins(self.pins, pins))


_ADAPTER = TypeAdapter(WarpProblem)


def close_problem(graph: KernelGraph, profile: HardwareProfile, pins: Pins | None = None) -> WarpProblem:
    """Closes a kernel, a device and the pins of graph and request into one problem.

    Raises:
        NotApplicable: the kernel or the profile is not a CUDA one.
        PinError: a pin names nothing in this kernel, or two single-valued pins contradict each other.
        ProfileError: the profile lacks a number that every schedule depends on.
    """
    if graph.family is not TargetFamily.CUDA or profile.family is not TargetFamily.CUDA:
        raise NotApplicable(f"a warp schedule needs a CUDA kernel and device, not {graph.family} on {profile.family}")
    merged = merge_pins(graph.pins, pins or Pins())
    check_pins(graph, merged)
    return WarpProblem(
        graph=replace(graph, pins=Pins()),
        machine=machine(profile),
        pins=merged,
        profile_name=profile.name,
        profile_digest=profile.digest,
    )


def merge_pins(first: Pins, second: Pins) -> Pins:
    """Both sets of pins. Contradicting entries both stay: the solver names them.

    Raises:
        PinError: a pin that can have only one value is fixed to two.
    """
    merged: dict[str, object] = {}
    for name in (f.name for f in fields(Pins)):
        ours, theirs = getattr(first, name), getattr(second, name)
        if isinstance(ours, tuple):
            merged[name] = tuple(dict.fromkeys((*ours, *theirs)))
        elif ours is not None and theirs is not None and ours != theirs:
            raise PinError(f"{name} is pinned to {ours} and to {theirs}", code="pin-contradiction", place=name)
        else:
            merged[name] = theirs if ours is None else ours
    return Pins(**merged)  # type: ignore[arg-type]  # the values come from two Pins, field by field


def check_pins(graph: KernelGraph, pins: Pins) -> None:
    """Refuses pins that name nothing here.

    Raises:
        PinError: ``pin-unknown-op``, ``pin-unknown-buffer``, ``pin-unknown-role`` or ``pin-not-for-cuda``.
    """
    ops = {op.id for op in graph.ops}
    buffers = {buffer.name for buffer in graph.buffers}
    for op in (*(p.op for p in pins.placements), *(p.op for p in pins.stages)):
        if op not in ops:
            raise PinError(f"there is no operation {op!r} to pin", code="pin-unknown-op", place=op)
    for buffer in (*(p.buffer for p in pins.depths), *(b for p in pins.pipelines for b in p.buffers)):
        if buffer not in buffers:
            raise PinError(f"there is no buffer {buffer!r} to pin", code="pin-unknown-buffer", place=buffer)
    for role in (*(p.role for p in pins.placements), *(p.role for p in pins.roles)):
        if role not in ROLES:
            raise PinError(
                f"there is no role {role!r}; choose one of {', '.join(ROLES)}", code="pin-unknown-role", place=role
            )
    if pins.buffers or pins.unlimited_memories:
        raise PinError("buffer version pins are for Ascend kernels", code="pin-not-for-cuda", place="buffers")


def graph_digest(graph: KernelGraph) -> str:
    """Digest of a kernel graph's JSON document."""
    return digest_text(dumps(graph))
