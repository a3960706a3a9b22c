"""A structure as a schedule in source order, without a solver: good enough for a forecast, never an answer.

The search forecasts dozens of sketches and asks the solver only for the best structures. Which role
runs what, and which buffers change hands, follow from the solver's own placement rule.
"""

from warpwright.solver.candidates.structures import Space, Structure
from warpwright.solver.device.limits import WARPGROUP
from warpwright.solver.domain import ROOT, Pins, Pipeline, Role, WarpSchedule
from warpwright.solver.forecast.assemble import assemble
from warpwright.solver.warp.encoding import default_warps
from warpwright.solver.warp.layout.buffer_channels import Channel, HandOff, together
from warpwright.solver.warp.layout.structure import structure_of
from warpwright.solver.warp.problem import CONSUMER, WarpProblem

__all__ = ["sketch"]


def sketch(space: Space, structure: Structure, problem: WarpProblem) -> WarpSchedule:
    """The structure's schedule in source order.

    Args:
        space: The kernel's space.
        structure: The choices that the schedule must have.
        problem: The kernel closed over a device, with the user's pins.

    Raises:
        GraphError: the graph names something that it does not have.
        PinError: the structure asks for a store role that a pin forbids.
    """
    chosen = structure.pins()
    placed = structure_of(problem.with_pins(Pins(placements=chosen.placements, store_role=structure.store_role)))
    warps = WARPGROUP * structure.warpgroups
    roles = [Role(CONSUMER, 0, warps, structure.consumer_registers)]
    for name in placed.roles:
        if name != CONSUMER:
            width = default_warps(problem, placed, name)
            roles.append(Role(name, roles[-1].warps_hi, roles[-1].warps_hi + width, structure.load_registers))
    pipelines: list[Pipeline] = []
    producers: dict[str, str] = {}
    homes: dict[str, str] = {}
    values: dict[str, tuple[HandOff, ...]] = {}
    for channels in _groups(placed.channels, structure):
        names = tuple(channel.buffer for channel in channels)
        single = [channel for channel in channels if channel.carried or channel.encloses]
        depth = 1 if single else min(structure.depth(channel.buffer) for channel in channels)
        pipeline = Pipeline("_".join(channel.name for channel in channels), names, depth)
        pipelines.append(pipeline)
        producers[pipeline.name] = channels[0].producer
        homes[pipeline.name] = channels[0].scope
        if len(channels[0].hand_offs) > 1:
            values[pipeline.name] = together(channels)
    num_warps = -(-roles[-1].warps_hi // WARPGROUP) * WARPGROUP
    return assemble(
        space.graph, roles, placed.placement, pipelines, producers, num_warps, homes, values, wgmma=problem.device.wgmma
    )


def _groups(channels: tuple[Channel, ...], structure: Structure) -> list[list[Channel]]:
    """Channels that share a pipeline: merged ones have the same two roles and the same loop, whoever reads them.

    K and V of an attention may share one: the second product then needs no wait of its own behind the exponentials. With a
    pipeline for each product of a loop, a release need not wait for the others'.
    """
    depths = dict(structure.depths)
    group = {name: names for names in structure.grouped for name in names}
    found: dict[tuple[object, ...], list[Channel]] = {}
    for channel in channels:
        loaded = channel.scope != ROOT and channel.buffer in depths and not channel.encloses
        merges = loaded and (structure.merged or channel.buffer in group)
        key = (channel.scope, channel.producer, channel.consumer) if merges else (channel.buffer, channel.scope)
        key = (*key, group.get(channel.buffer), len(channel.hand_offs)) if merges else key
        found.setdefault(key, []).append(channel)
    return list(found.values())
