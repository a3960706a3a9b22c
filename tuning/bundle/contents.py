"""The contents of a bundle, as values and as its manifest."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.result import CompiledKernel
from warpwright.lowering.measure.protocol import GPU_1, PROTOCOLS, Protocol
from warpwright.lowering.measure.runner import MeasureJob, OtherSize
from warpwright.lowering.measure.tasks import job_from
from warpwright.solver.domain.identity import digest_text
from warpwright.tuning.measure.device_child import job_document

__all__ = ["SCHEMA", "Contents", "binary_name", "manifest_of", "with_files"]

SCHEMA = "warpwright.bundle/1"

RECIPE = {
    "floating point": "standard normal, torch.Generator(device).manual_seed(seed * 1009 + argument position)",
    "integers": "uniform in [-100, 100), uint8 in [0, 100), bool in {0, 1}, same generator",
    "outputs": "poisoned: NaN for floating point, a pattern by run for others",
}
"""How inputs are generated; the seeds are the protocol's. A bundle contains no data of the user."""


@dataclass(frozen=True, slots=True)
class Contents:
    """Candidates with their references, and how to measure them. ``origin`` is the job's name or the kernel file's."""

    jobs: tuple[MeasureJob, ...]
    origin: str = ""
    profile: str = ""
    protocol: Protocol = GPU_1
    preference: tuple[str, ...] = ()
    groups: tuple[tuple[str, ...], ...] = ()
    always_final: tuple[str, ...] = ()
    baselines: tuple[str, ...] = ()
    notes: Mapping[str, str] = field(default_factory=dict)

    def kernels(self) -> list[CompiledKernel]:
        """Every kernel in the bundle, references and other sizes included."""
        found = []
        for job in self.jobs:
            pairs = [(job.kernel, job.reference), *((other.kernel, other.reference) for other in job.also)]
            found += [kernel for pair in pairs for kernel in pair if kernel is not None]
        return found

    def digest(self) -> str:
        """Identity of the bundle: the digest of its manifest without file places."""
        return digest_text(json.dumps(manifest_of(self), sort_keys=True))


def binary_name(kernel: CompiledKernel) -> str:
    """Place of a kernel's binary in the archive: by content."""
    return f"binaries/{kernel.binary_digest.removeprefix('sha256:')}.so"


def manifest_of(contents: Contents) -> dict[str, Any]:
    """The manifest; binaries are named by their place in the archive, library calls by their name."""
    return {
        "schema": SCHEMA,
        "origin": contents.origin,
        "profile": contents.profile,
        "protocol": contents.protocol.name,
        "protocol_digest": contents.protocol.digest(),
        "inputs": RECIPE,
        "preference": list(contents.preference),
        "groups": [list(group) for group in contents.groups],
        "always_final": list(contents.always_final),
        "baselines": list(contents.baselines),
        "notes": dict(contents.notes),
        "jobs": [job_document(with_files(job, None)) for job in contents.jobs],
    }


def contents_of(manifest: Mapping[str, Any], folder: Path) -> Contents:
    """Contents from a manifest whose binaries lie in ``folder``; ``KeyError``, ``TypeError`` or ``ValueError`` if damaged."""
    protocol = PROTOCOLS[manifest["protocol"]]
    if protocol.digest() != manifest["protocol_digest"]:
        raise ValueError(f"protocol {protocol.name!r} is defined differently in this version")
    return Contents(
        jobs=tuple(with_files(job_from(job), folder) for job in manifest["jobs"]),
        origin=str(manifest["origin"]),
        profile=str(manifest["profile"]),
        protocol=protocol,
        preference=tuple(manifest["preference"]),
        groups=tuple(tuple(group) for group in manifest["groups"]),
        always_final=tuple(manifest["always_final"]),
        baselines=tuple(manifest["baselines"]),
        notes=dict(manifest["notes"]),
    )


def with_files(job: MeasureJob, folder: Path | None) -> MeasureJob:
    """The job with the places of its binaries: in the archive, or as files of the folder it was unpacked to."""

    def moved(kernel: CompiledKernel) -> CompiledKernel:
        if kernel.binary is None or not kernel.binary_digest.startswith("sha256:"):
            return kernel
        name = binary_name(kernel)
        return replace(kernel, binary=name if folder is None else str(folder / name), source="")

    reference = moved(job.reference) if job.reference is not None else None
    also = tuple(OtherSize(other.name, moved(other.kernel), moved(other.reference)) for other in job.also)
    return replace(job, kernel=moved(job.kernel), reference=reference, also=also)
