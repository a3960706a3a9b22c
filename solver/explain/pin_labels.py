"""Pins by the labels that their constraints have (:mod:`warpwright.solver.warp.families.pinning`)."""

from dataclasses import replace

from warpwright.solver.domain.pins import Pins, RolePin

__all__ = ["without_pin"]


def without_pin(pins: Pins, label: str) -> Pins | None:
    """The pins without the one of this label (``buffers.As.depth=4``, ``roles.load.warps_lo=8``); None if it is none of them."""
    roles = tuple(_without_value(pin, label) for pin in pins.roles)
    changed = replace(
        pins,
        roles=roles,
        placements=tuple(pin for pin in pins.placements if label != f"ops.{pin.op}.role={pin.role}"),
        pipelines=tuple(pin for pin in pins.pipelines if label != f"pipeline={'+'.join(pin.buffers)}"),
        depths=tuple(pin for pin in pins.depths if label != f"buffers.{pin.buffer}.depth={pin.depth}"),
        stages=tuple(pin for pin in pins.stages if label != f"ops.{pin.op}.stage={pin.stage}"),
        consumer_warpgroups=None
        if label == f"consumer_warpgroups={pins.consumer_warpgroups}"
        else pins.consumer_warpgroups,
        store_role=None if label == f"store_role={str(pins.store_role).lower()}" else pins.store_role,
        merged_pipelines=None
        if label == f"merged_pipelines={str(pins.merged_pipelines).lower()}"
        else pins.merged_pipelines,
        software_pipelining=None
        if label == f"software_pipelining={str(pins.software_pipelining).lower()}"
        else pins.software_pipelining,
    )
    return None if changed == pins else changed


def _without_value(pin: RolePin, label: str) -> RolePin:
    where = f"roles.{pin.role}"
    return replace(
        pin,
        warps_lo=None if label == f"{where}.warps_lo={pin.warps_lo}" else pin.warps_lo,
        warps_hi=None if label == f"{where}.warps_hi={pin.warps_hi}" else pin.warps_hi,
        registers_per_thread=None
        if label == f"{where}.registers_per_thread={pin.registers_per_thread}"
        else pin.registers_per_thread,
    )
