"""Wire forms of solving without building."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from warpwright.service.recorded import CertificateDocument, PinsDocument, PinsJson, ProfileJson, ScheduleDocument
from warpwright.service.strict_types import Real, Whole
from warpwright.solver.domain import Conflict, Pins

__all__ = ["SolveAnswer", "SolveRequest"]


class SolveRequest(BaseModel):
    """One kernel and one device; the answer is a schedule with its certificate, nothing is built."""

    model_config = ConfigDict(extra="forbid")

    ir: str = Field(min_length=1, description="Text of `tvm.ir.save_json(prim_func)`.")
    profile: str | ProfileJson = Field(description="A profile's name or digest, or the JSON document itself.")
    pins: PinsJson | None = Field(default=None, description="A `warpwright.pins/1` document.")
    engine: Literal["cpsat", "z3"] = "cpsat"
    seed: Whole = Field(default=0, ge=0, le=2**31 - 1)
    work_limit: Whole = Field(
        default=20_000, ge=1, le=10_000_000, description="Deterministic limit, about milliseconds of search."
    )
    seconds: Real = Field(default=30.0, gt=0, le=300, allow_inf_nan=False, description="Limit of wall time.")
    why: str | None = Field(
        default=None,
        min_length=1,
        max_length=200,
        description="Also explain one choice, such as `pipelines.ab.depth=4`.",
    )


class SolveAnswer(BaseModel):
    """A verdict. `infeasible` and `unknown` are answers, not errors; unknown says nothing about feasibility."""

    status: Literal["proven_optimal", "feasible", "infeasible", "unknown"]
    kernel: str
    ir_hash: str
    profile_digest: str
    schedule: ScheduleDocument | None = None
    certificate: CertificateDocument | None = None
    conflicts: tuple[Conflict, ...] = ()
    reason: str = ""
    pins: PinsDocument = Field(default_factory=Pins, description="The pins as applied.")
    explanation: dict[str, Any] | None = Field(default=None, description="The answer to `why`.")
