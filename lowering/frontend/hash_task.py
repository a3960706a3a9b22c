"""The task ``frontend.hash``: a kernel's identity. Needs no TVM, so a service may also call :func:`.irhash.ir_hash` itself."""

from typing import Any

from warpwright.lowering.frontend.irhash import ir_hash
from warpwright.lowering.frontend.precheck import LIMIT_BYTES
from warpwright.solver.domain import DocumentError

__all__ = ["hash_ir"]


def hash_ir(payload: dict[str, Any]) -> dict[str, Any]:
    """``{"ir", "limit_bytes"?}`` -> ``{"ir_hash"}``; raises what the check of the document raises."""
    text = payload.get("ir")
    if not isinstance(text, str):
        raise DocumentError("'ir' is not a string", code="ir-not-json", place="/ir")
    return {"ir_hash": ir_hash(text, limit_bytes=int(payload.get("limit_bytes", LIMIT_BYTES)))}
