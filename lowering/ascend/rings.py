"""Manual rings: the size that the source really uses, from its indices, against the size that it declares.

TileLang searches cross-iteration distances up to the declared N and keeps the first conflict it finds, so an N below the true
ring silently drops dependences (measured: true ring 2, N = 1 leaves no cross-iteration edge at all). Imports TVM: child only.
"""

from typing import Any

from tilelang import tvm

from warpwright.solver.domain import PinError, Pins

__all__ = ["check_rings", "true_rings"]

tirx = tvm.tirx


def check_rings(function: Any, pins: Pins) -> None:
    """Raises PinError ``pin-manual-too-small`` if a declared ring is smaller than the one that its indices use."""
    rings = true_rings(function)
    for pin in pins.buffers:
        if pin.manual_versions is not None and pin.manual_versions < rings.get(pin.buffer, 1):
            raise PinError(
                f"{pin.buffer!r} is declared as a ring of {pin.manual_versions}, but its indices use "
                f"{rings[pin.buffer]} versions: dependences between iterations would be lost",
                code="pin-manual-too-small",
                place=pin.buffer,
            )


def true_rings(function: Any) -> dict[str, int]:
    """The largest constant modulus in the indices of each on-chip storage: its ring size when indexed by ``i % n``."""
    rings: dict[str, int] = {}

    def visit(node: Any) -> None:
        if isinstance(node, tirx.BufferLoad | tirx.BufferStore) and str(node.buffer.scope()).startswith("shared"):
            name = str(node.buffer.data.name)
            for index in node.indices:
                rings[name] = max(rings.get(name, 1), _modulus(index))

    tirx.stmt_functor.post_order_visit(function.body, visit)
    return {name: size for name, size in rings.items() if size > 1}


def _modulus(index: Any) -> int:
    largest = 1

    def visit(node: Any) -> None:
        nonlocal largest
        if isinstance(node, tirx.FloorMod) and isinstance(node.b, tirx.IntImm):
            largest = max(largest, int(node.b.value))

    tirx.stmt_functor.post_order_visit(tirx.Evaluate(index), visit)
    return largest
