"""The task ``frontend.read``, run in child processes only: importing this module imports TileLang, which warms a child.

Any error of TVM on a document that passed the check becomes a typed error here; a crash ends the child, not the service.
"""

from typing import Any

from tilelang import tvm

from warpwright.lowering.frontend.bulk_alignment import with_aligned_bulk_copies
from warpwright.lowering.frontend.graph import read_graph
from warpwright.lowering.frontend.irhash import hash_document
from warpwright.lowering.frontend.placeholders import own_placeholders
from warpwright.lowering.frontend.precheck import LIMIT_BYTES, precheck
from warpwright.lowering.frontend.walk import walk_kernel
from warpwright.solver.domain import DocumentError, HardwareProfile, WarpwrightError, dump, load

__all__ = ["load_function", "read"]


def read(payload: dict[str, Any]) -> dict[str, Any]:
    """``{"ir", "profile", "limit_bytes"?}`` -> ``{"graph", "ir_hash"}``.

    Raises:
        DocumentError, ForeignCode: as :func:`precheck`, and ``ir-rejected`` for what TVM cannot read.
        NotApplicable: the kernel is legal but no warp schedule can express it.
        NotBuildable: it could not be built, whoever schedules it (:mod:`warpwright.lowering.frontend.launch`).
        ProfileError: the profile lacks a number.
    """
    document = precheck(_text(payload), limit_bytes=int(payload.get("limit_bytes", LIMIT_BYTES)))
    profile: HardwareProfile = load(HardwareProfile, payload["profile"])

    function = load_function(_text(payload))
    try:
        graph = read_graph(walk_kernel(with_aligned_bulk_copies(function)), profile)
    except WarpwrightError:
        raise
    except Exception as error:
        # TVM's objects are only as valid as their document; its errors are about the document.
        raise DocumentError(f"the IR is inconsistent: {_first_line(error)}", code="ir-rejected", place="/") from error
    return {"graph": dump(graph), "ir_hash": hash_document(document)}


def load_function(text: str) -> Any:
    """The ``PrimFunc`` of a checked document; DocumentError ``ir-rejected`` if TVM refuses it."""
    try:
        function = tvm.ir.load_json(text)
        if isinstance(function, tvm.tirx.PrimFunc):
            return own_placeholders(function)
    except Exception as error:
        raise DocumentError(f"TVM cannot read the IR: {_first_line(error)}", code="ir-rejected", place="/") from error
    raise DocumentError("the IR is not a PrimFunc", code="ir-not-a-primfunc", place="/")


def _text(payload: dict[str, Any]) -> str:
    text = payload.get("ir")
    if not isinstance(text, str):
        raise DocumentError("'ir' is not a string", code="ir-not-json", place="/ir")
    return text


def _first_line(error: Exception) -> str:
    lines = [line for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]
