"""Wire forms of jobs."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, StringConstraints, model_validator

from warpwright.service.build_options import BuildOptionNames
from warpwright.service.candidates.schemas import CandidateView
from warpwright.service.jobs.states import JobState
from warpwright.service.recorded import CertificateDocument, PinsDocument, PinsJson, ProfileJson, ScheduleDocument
from warpwright.service.results.stored_answer import StoredAnswer
from warpwright.service.strict_types import Flag, Real, Whole, exactly_one
from warpwright.solver.domain import Conflict, Failure, RejectedStructure
from warpwright.tuning.request import Effort

__all__ = [
    "AnswerNow",
    "AnswerPartView",
    "AnswerView",
    "AttemptView",
    "EventView",
    "JobMode",
    "JobState",
    "JobSubmission",
    "JobSummary",
    "JobView",
    "SizeSubmission",
    "VariantSubmission",
    "VariantView",
]

Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]


class JobMode(StrEnum):
    """``later``: the job has the answer. ``now``: the reply also has the best answer that is known at once."""

    LATER = "later"
    NOW = "now"


class SizeSubmission(BaseModel):
    """A variant at another size."""

    model_config = ConfigDict(extra="forbid")

    name: Name = Field(
        description="Shown to people, such as `seq=1056`; sizes with the same name belong together in a kernel family."
    )
    ir: str = Field(min_length=1, description="Text of `tvm.ir.save_json(prim_func)`.")


class VariantSubmission(BaseModel):
    """One member of a kernel family."""

    model_config = ConfigDict(extra="forbid")

    ir: str = Field(min_length=1, description="Text of `tvm.ir.save_json(prim_func)`.")
    params: dict[str, JsonValue] = Field(default_factory=dict, max_length=64)
    sizes: list[SizeSubmission] = Field(
        default_factory=list,
        max_length=4,
        description="Other sizes at which a measured winner is checked before it is delivered.",
    )


class JobSubmission(BaseModel):
    """What to tune, for which device, and with which budget."""

    model_config = ConfigDict(extra="forbid", json_schema_extra=exactly_one("ir", "variants"))

    ir: str | None = Field(default=None, min_length=1, description="One kernel's IR; or give `variants`.")
    variants: list[VariantSubmission] | None = Field(
        default=None, min_length=1, description="A kernel family, the user's default first; or give `ir`."
    )
    name: Name | None = Field(default=None, description="Shown to people; the kernel's own name by default.")
    profile: str | ProfileJson = Field(description="A profile's name or digest, or the JSON document itself.")
    pins: PinsJson | None = Field(default=None, description="A `warpwright.pins/1` document.")
    build_options: BuildOptionNames = Field(
        default_factory=list,
        description="Named options that change how kernels round; they apply to all builds of the job, including the reference.",
    )
    engine: Literal["cpsat", "z3"] = "cpsat"
    seed: Whole = Field(default=0, ge=0, le=2**31 - 1)
    effort: Effort = Effort.NORMAL
    candidates: Whole | None = Field(
        default=None, ge=0, le=1000, description="Number of proposed schedules to build, instead of the effort's."
    )
    seconds: Real | None = Field(
        default=None, gt=0, le=7 * 86400, allow_inf_nan=False, description="Wall time, instead of the effort's."
    )
    measure: Flag = Field(default=True, description="Time the candidates if a device of this profile is available.")
    priority: Whole = Field(default=0, ge=-10, le=10, description="Higher runs earlier.")
    mode: JobMode = JobMode.LATER
    fresh: Flag = Field(
        default=False, description="Ignore cached results: work again, even if the same work is running or done."
    )

    @model_validator(mode="after")
    def _one_kernel(self) -> "JobSubmission":
        if (self.ir is None) == (self.variants is None):
            raise ValueError("give either 'ir' or 'variants'")
        return self

    def family(self) -> list[VariantSubmission]:
        """The variants; one for a single kernel."""
        return self.variants if self.variants is not None else [VariantSubmission(ir=self.ir or "")]


class VariantView(BaseModel):
    """A variant and its outcome."""

    number: int
    params: dict[str, JsonValue]
    ir_digest: str
    kernel: str = ""
    ir_hash: str | None = None
    sizes: list[str] = Field(default_factory=list, description="Names of the sizes at which a winner is checked.")
    failure: Failure | None = None


class AttemptView(BaseModel):
    """One claim of the job by a runner."""

    attempt: int
    owner: str
    started_at: datetime
    ended_at: datetime | None
    ending: str | None


class AnswerNow(BaseModel):
    """The best that is known before the job has ended: a stored result, a schedule solved at once, or the compiler's default."""

    source: Literal["cache", "solved", "default"]
    measured: bool
    result: StoredAnswer | None = Field(default=None, description="Only for `cache`.")
    variant: int | None = Field(default=None, description="Only for `solved`, like the four below.")
    ir_hash: str | None = None
    status: str | None = Field(default=None, description="The solver's verdict.")
    schedule: ScheduleDocument | None = None
    certificate: CertificateDocument | None = None
    conflicts: tuple[Conflict, ...] = Field(default=(), description="Only for `default`: no schedule exists.")
    reason: Failure | None = Field(default=None, description="Only for `default`: the solver was not asked or failed.")
    transient: bool | None = Field(default=None, description="The same request may succeed later.")
    refused: str = Field(
        default="",
        description="Only for `default`: the rule that refuses the compiler's own choice, which may hang the device or compute "
        "wrong results; then nothing is known that a build can use.",
    )


class AnswerPartView(BaseModel):
    """One part of the answer's sentence."""

    name: str = Field(
        description="`ending`, `partial`, `gain`, `throughput`, `library`, `ties`, `conditions` or `sizes`; more may follow."
    )
    text: str
    known: bool = Field(description="False where the text says that something is missing.")


class AnswerView(BaseModel):
    """The answer in one sentence, the same as on pages, in reports and in the terminal."""

    text: str
    parts: list[AnswerPartView]


class JobSummary(BaseModel):
    """A job in a list."""

    id: str
    name: str
    state: JobState
    priority: int
    profile: str = Field(description="The profile's name.")
    profile_digest: str
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    done: int = Field(description="Candidates that have ended.")
    total: int | None = Field(description="Candidates to try; null until the solver has finished.")
    ending: str | None = Field(description="tuned, infeasible, not_applicable or unknown, once ended.")
    note: str = Field(description="What the answer is based on: 'measured', 'compiled, not measured', ...")
    partial: bool = Field(description="The job was stopped; the answer is the best known by then.")
    stopped_by: str
    best: str | None = Field(description="Id of the best candidate.")
    error: Failure | None


class JobView(JobSummary):
    """A job with everything but its candidates' details."""

    attempt: int
    owner: str
    trace_id: str
    cancel_requested: bool
    engine: str
    measure: bool
    pins: PinsDocument
    build_options: list[str]
    budget: dict[str, float]
    variants: list[VariantView]
    rejected: list[RejectedStructure]
    tied: list[str] = Field(
        description="Candidates of which none is better than another, the winner included; by interleaved rounds where there"
        " were some, by forecast where nothing was measured."
    )
    margin: float | None = Field(
        default=None,
        description="The winner's relative lead over the best candidate that does not tie; null if there is none.",
    )
    attempts: list[AttemptView]
    winner: CandidateView | None
    baseline: CandidateView | None = Field(description="The compiler's own best choice in this job.")
    speedup: float | None = Field(
        description="Baseline's measured time over the winner's; null unless both were measured."
    )
    answer: AnswerView | None = Field(
        default=None, description="The answer in one sentence; null until the job has ended."
    )
    last_event: int
    now: AnswerNow | None = Field(
        default=None, description="Only in the reply to mode=now: the best answer that is known at once."
    )


class EventView(BaseModel):
    """One event of a job."""

    number: int
    kind: str
    at: datetime
    attempt: int
    data: dict[str, Any]
