"""Tuning without a database: IR in, ranked candidates out, every step behind the :class:`Toolchain` port.

``warpwright.service.jobs`` persists what comes out of here; the command line prints it.
"""

from warpwright.tuning.events import CandidateEnded, Event, Phase, PhaseEntered, Proposed, StepStarted, VariantRead
from warpwright.tuning.orchestrate import tune
from warpwright.tuning.request import Effort, Size, TuneBudget, TuneRequest, Variant
from warpwright.tuning.result import (
    BASELINES,
    CandidateKind,
    CandidateRecord,
    Ending,
    Failure,
    Outcome,
    Product,
    RejectedStructure,
    Step,
    TuneResult,
    VariantReport,
)

__all__ = [
    "BASELINES",
    "CandidateEnded",
    "CandidateKind",
    "CandidateRecord",
    "Effort",
    "Ending",
    "Event",
    "Failure",
    "Outcome",
    "Phase",
    "PhaseEntered",
    "Product",
    "Proposed",
    "RejectedStructure",
    "Size",
    "Step",
    "StepStarted",
    "TuneBudget",
    "TuneRequest",
    "TuneResult",
    "Variant",
    "VariantRead",
    "VariantReport",
    "tune",
]
