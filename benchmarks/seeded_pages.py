"""A data folder with jobs as an H200 measured them, to look at the pages: ``python -m benchmarks.seeded_pages FOLDER``.

Reads the recordings under ``docs/results/h200`` and writes each problem of each as an ended job, with the kernel's IR (read now
from ``examples``), schedules, rounds, clocks, and the times of vendor libraries of the same rounds. Nothing is invented: what a
recording lacks (certificates of the sessions, sources) the pages lack too. Look with ``WARPWRIGHT_DATA=FOLDER warpwright serve``.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from warpwright.graphs import read_kernel
from warpwright.kernel_file import KernelFile, read_kernel_file
from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.candidates.repository import all_of
from warpwright.service.candidates.rows import candidate_of
from warpwright.service.db import Database, WriteSession
from warpwright.service.db.migrate import upgrade
from warpwright.service.db.models import Artifact, CandidateRow, Job, JobAttempt, JobVariant, Profile
from warpwright.service.kernels.repository import remember as remember_kernel
from warpwright.service.profiles.service import seed
from warpwright.service.results.store import remember
from warpwright.service.settings import Settings
from warpwright.solver.domain import (
    CandidateKind,
    HardwareProfile,
    KernelGraph,
    Pins,
    Schedule,
    candidate_id,
    dump,
    load,
)
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool
from warpwright.tuning.ranking import ranking_of
from warpwright.tuning.roofline import ROOFLINE, roofline_of
from warpwright.tuning.toolchain import Identity

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "docs/results/h200"
SESSIONS = ("all_20-51.json", "attention_21-04.json", "all_2026-11-30.json", "gemm_family.json")
TUNED = "tune_attention.json"
IDENTITY = Identity("tilelang 0.1.15", "cuda-warp/2", "gpu-1", "seeded")


class Kernels:
    """Kernels of the examples at the recorded sizes; each is read once."""

    def __init__(self, pool: ChildPool, profile: HardwareProfile) -> None:
        self._pool, self._profile = pool, profile
        self._files: dict[str, KernelFile] = {}
        self._read: dict[str, tuple[KernelGraph, str]] = {}

    def ir(self, problem: str, size: Mapping[str, int], params: Mapping[str, Any]) -> str:
        """The IR of the variant with these parameters."""
        name = "attention" if problem.startswith("attention") else "gemm"
        settings = {**size, **params}
        key = json.dumps([name, settings], sort_keys=True)
        if key not in self._files:
            self._files[key] = read_kernel_file(ROOT / f"examples/{name}.py", settings=settings, pool=self._pool)
        return self._files[key].variants[0].ir

    def graph(self, ir: str) -> tuple[KernelGraph, str]:
        """The graph and the hash of an IR."""
        if ir not in self._read:
            self._read[ir] = read_kernel(ir, self._profile, pool=self._pool)
        return self._read[ir]


def main() -> None:
    """Read, write, say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder: Path = parser.parse_args().folder
    folder.mkdir(parents=True, exist_ok=True)
    settings = Settings(data=folder)
    database = Database(settings.url)
    upgrade(database)
    database.write(seed)
    store = ArtifactStore(settings.artifacts, sync=False)
    profile = load_profile("h200")
    with ChildPool(1) as pool:
        kernels = Kernels(pool, profile)
        for number, job in enumerate(_jobs()):
            database.write(partial(_write, store=store, kernels=kernels, job=job, number=number))
            sys.stdout.write(f"{job['name']} of {job['began']}: {len(job['candidates'])} candidates\n")
    database.close()


def _jobs() -> Iterator[dict[str, Any]]:
    for name in SESSIONS:
        document = json.loads((RECORDED / name).read_text())
        for problem, entry in document["problems"].items():
            yield _of_session(document, problem, entry)
    document = json.loads((RECORDED / TUNED).read_text())
    yield {
        "name": "attention_forward", "problem": "attention", "began": "2026-11-30T09:10:00Z",
        "size": {"batch": 4, "heads": 16, "seq": 8192, "dim": 128}, "candidates": document["candidates"],
        "rejected": document["rejected"], "libraries": {}, "build_options": document["build_options"],
    }  # fmt: skip


def _of_session(document: Mapping[str, Any], problem: str, entry: Mapping[str, Any]) -> dict[str, Any]:
    """A session's problem in the form of a tuning's result."""
    rounds = entry["rounds_ns"]
    candidates = []
    for key, each in entry["candidates"].items():
        if "kind" not in each:
            continue
        figures = rounds.get(key)
        summary = each.get("summary") or {}
        measured = median(figures) if figures else summary.get("median_ns")
        took_part = {"rounds_ns": figures, "session": document["began"]} if figures else {}
        measurement = {
            "protocol": document["protocol"], "device": document["device"], "flags": each.get("flags", []),
            "before": each.get("before"), "after": each.get("after"), "waves": each.get("waves"), **summary, **took_part,
        }  # fmt: skip
        failure = (
            None if not each["failure"] else {"code": each["outcome"].replace("_", "-"), "message": each["failure"]}
        )
        candidates.append(
            {
                "kind": each["kind"], "outcome": each["outcome"], "params": each["params"], "schedule": each["schedule"],
                "status": each["status"], "forecast_ns": each["forecast_ns"], "certificate": None,
                "measured_ns": measured if each["outcome"] == "measured" else None,
                "measurement": measurement if each["outcome"] == "measured" else {},
                "structure": {str(k): str(v) for k, v in each["structure"].items()},
                "report": {"ptxas": each["ptxas"], "launch": each["launch"], "options": each["options"]},
                "not_honoured": each.get("details") or [], "failure": failure, "seconds": each["seconds"],
            }
        )  # fmt: skip
    name = "attention_forward" if problem.startswith("attention") else "gemm_bias_relu"
    libraries = {library: median(rounds[library]) for library in entry["yardsticks"] if library in rounds}
    return {
        "name": name, "problem": problem, "size": entry["size"], "began": document["began"], "candidates": candidates,
        "rejected": entry["excluded"].get("infeasible", []), "libraries": libraries, "build_options": [],
    }  # fmt: skip


def _write(session: WriteSession, store: ArtifactStore, kernels: Kernels, job: dict[str, Any], number: int) -> None:
    profile = session.rows(Profile.__table__.select().where(Profile.name == "h200"))[0].digest
    began = datetime.fromisoformat(job["began"])
    job_id = f"job_{int(began.timestamp() * 1000):012x}_{number:020x}"
    row = Job(
        id=job_id, name=job["name"], state="done", work_digest=f"seeded-{number}", profile_digest=profile,
        request={
            "pins": dump(Pins()), "engine": "cpsat", "measure": True, "budget": {}, "build_options": job["build_options"],
        },
        created_at=began, started_at=began + timedelta(seconds=2), ended_at=began + timedelta(minutes=7), attempt=1,
        ending="tuned", note="measured",
    )  # fmt: skip
    session.add(row)
    session.flush()
    session.add(
        JobAttempt(
            job_id=job_id, attempt=1, owner="seeded", started_at=row.started_at, ended_at=row.ended_at, ending="done"
        )
    )
    variants: dict[str, int] = {}
    hashes: dict[int, str] = {}
    rooflines: dict[int, dict[str, Any]] = {}
    keys: set[str] = set()
    for each in job["candidates"]:
        params = {name: value for name, value in each["params"].items() if name not in job["size"]}
        known = json.dumps(params, sort_keys=True)
        ir = kernels.ir(job["problem"], job["size"], params)
        graph, ir_hash = kernels.graph(ir)
        if known not in variants:
            variant = variants[known] = len(variants)
            hashes[variant] = ir_hash
            rooflines[variant] = asdict(roofline_of(graph, load_profile("h200")))
            digest, size = store.put(ir.encode()), len(ir)
            now = {"created_at": began, "last_used_at": began}
            session.insert_missing(
                Artifact, [{"digest": digest, "media_type": "application/json", "bytes": size, **now}]
            )
            remember_kernel(session, graph.name, ir_hash, digest)
            session.add(
                JobVariant(
                    job_id=job_id, number=variant, params=params | job["size"], text_digest=digest, ir_hash=ir_hash
                )
            )
            session.flush()
        variant = variants[known]
        schedule = load(Schedule, each["schedule"]) if each["schedule"] else None
        key = candidate_id(ir_hash, CandidateKind(each["kind"]), schedule)
        if key in keys:
            continue
        keys.add(key)
        session.add(
            CandidateRow(
                job_id=job_id, key=key, number=len(keys), attempt=1, variant=variant, kind=each["kind"], outcome=each["outcome"],
                status=each["status"], forecast_ns=each["forecast_ns"], measured_ns=each["measured_ns"],
                schedule=each["schedule"], certificate=each["certificate"], structure=each["structure"],
                measurement=each["measurement"], report={**each["report"], ROOFLINE: rooflines[variant]},
                not_honoured=each["not_honoured"], failure=each["failure"], seconds=each["seconds"], ir_hash=ir_hash,
                profile=profile, toolchain=IDENTITY.toolchain, constraint_set=IDENTITY.constraint_set,
                protocol=IDENTITY.protocol, verification=IDENTITY.verification, pins="none",
                build_options=",".join(job["build_options"]), ended_at=row.ended_at,
            )
        )  # fmt: skip
    session.flush()
    _conclude(session, row, job, list(hashes.values()), len(keys))


def _conclude(session: WriteSession, row: Job, job: dict[str, Any], hashes: list[str], count: int) -> None:
    ranking = ranking_of([candidate_of(each) for each in all_of(session, row.id)])
    row.best = ranking.best.id if ranking.best else None
    row.candidate_count = row.done = row.total = count
    row.summary = {
        "variants": [], "rejected": job["rejected"], "tied": list(ranking.tied), "margin": ranking.margin,
        "libraries": job["libraries"],
    }  # fmt: skip
    session.flush()
    remember(session, row, IDENTITY, row.request["pins"], "none", hashes)


if __name__ == "__main__":
    main()
