"""What a role reads through one proxy is not overwritten through the other before the reads were performed.

A version that bulk copies fill is refilled as soon as it was released. The arrival that releases it does not wait for loads
in flight: on an H200 the next bulk copy overwrote what a thread was still reading (docs/findings/release-after-generic-reads.md).
So a release after generic reads needs a fence of the reading role after the last of them; products that read by descriptors
and bulk stores have ended after their waits. The other way round, an asynchronous reader of what ``cp.async`` filled fences
after its wait: the arrival that TileLang defers to the end of the copies is not a fence. TileLang handles all other pairs
(docs/proxies.md). ``build`` adds nothing: the places of the fences follow from the placement
(:func:`warpwright.solver.warp.layout.proxies.with_fences`), and the family of pipeline depths counts their time.
Source: PTX ISA 8.x, memory consistency model, proxies; TileLang 0.1.15 wheel, MWS:375-401, 1391-1419.
"""

from warpwright.solver.domain.fact import Fact
from warpwright.solver.domain.schedule import Fence
from warpwright.solver.domain.verdict import Violation
from warpwright.solver.warp.encoding import WarpEncoding
from warpwright.solver.warp.layout.proxies import Gap, gaps
from warpwright.solver.warp.layout.structure import release_is_fenced, structure_of
from warpwright.solver.warp.problem import WarpProblem
from warpwright.solver.warp.schedule_reader import Reading

NAME = "proxy_fences"


def build(enc: WarpEncoding) -> None:
    """Nothing: see the module's docstring."""
    del enc


def check(reading: Reading) -> tuple[Violation, ...]:
    """Every gap, and every fence outside a consumer's span of its pipeline."""
    found: list[Violation] = []
    for (scope, role), body in reading.bodies.items():
        spans = reading.spans(scope, role)
        for position, entry in enumerate(body):
            if not isinstance(entry, Fence):
                continue
            around = reading.around(position, entry.pipeline, spans)
            if not around or around[0].producing:
                message = f"{role} fences {entry.pipeline} in {scope} outside a consumer's span of it"
                found.append(Violation(NAME, "fence-outside-span", message, entry.pipeline))
    graph, wgmma = reading.problem.graph, reading.problem.device.wgmma
    found += [_violation(gap) for gap in gaps(graph, reading.schedule, wgmma=wgmma)]
    return tuple(found)


def _violation(gap: Gap) -> Violation:
    if gap.before_release:
        message = (
            f"{gap.role} reads {gap.pipeline} in {gap.because} through the generic proxy and releases it in {gap.scope} "
            "without a fence: the next bulk copy may overwrite what is still being read"
        )
        return Violation(NAME, "release-unfenced", message, gap.pipeline)
    message = (
        f"{gap.role} reads {gap.pipeline} in {gap.because} through the asynchronous proxy without a fence after its wait: "
        "cp.async filled it through the generic one"
    )
    return Violation(NAME, "read-unfenced", message, gap.pipeline)


def explain(problem: WarpProblem, reading: Reading | None) -> tuple[Fact, ...]:
    """Fences per iteration of each pipeline's scope, and the cost of one."""
    note = f"{problem.device.proxy_fence_cycles:,} cycles each, before the release"
    if reading is None:
        needed = tuple(
            (c.name, len(c.hand_offs)) for c in structure_of(problem).channels if release_is_fenced(problem, c)
        )
        return (Fact("fences", sum(n for _, n in needed), None, "if none are merged", needed, note),) if needed else ()
    held = dict.fromkeys(reading.pipelines, 0)
    for body in reading.bodies.values():
        for entry in body:
            if isinstance(entry, Fence) and entry.pipeline in held:
                held[entry.pipeline] += 1
    needed = tuple((name, count) for name, count in held.items() if count)
    return (Fact("fences", sum(n for _, n in needed), None, "entries", needed, note),) if needed else ()
