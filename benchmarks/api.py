"""``python -m benchmarks.api``: generated requests over the whole committed OpenAPI document, as one JSON object.

schemathesis against a server process of its own on the stand-in toolchain: documented and damaged requests to every operation,
sequences of calls, batches with bodies that fit. Its own output goes to stderr. Exit code 1 when a check fails.
"""

import argparse
import json
import multiprocessing
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import httpx

from benchmarks.service import free_port, serve, until_up
from tests.acceptance.service.schema_bodies import KNOWN
from warpwright.service.openapi import PATH
from warpwright.service.testing import new_ir

__all__ = ["main"]

ROOT = Path(__file__).resolve().parents[1]
HOOKS = "tests.acceptance.service.schema_bodies"
PHASES = "examples,coverage,fuzzing,stateful"
# A request may fit the schema and still be refused for a reason that no schema states: a digest, a cursor, a text that is not IR.
NOT_CHECKED = "positive_data_acceptance"


def main() -> int:
    """Run schemathesis; print what it did."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=100, help="most test cases per operation and phase")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=Path, help="schemathesis's own output")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="warpwright-api-") as folder:
        port = free_port()
        process = multiprocessing.get_context("spawn").Process(target=serve, args=(folder, port), daemon=True)
        process.start()
        try:
            report = _run(port, Path(folder), arguments.examples, arguments.seed, arguments.out)
        finally:
            process.terminate()
            process.join(10)
    print(json.dumps(report, indent=1))
    return 0 if report["passed"] else 1


def _run(port: int, folder: Path, examples: int, seed: int, out: Path | None) -> dict[str, Any]:
    url = f"http://127.0.0.1:{port}"
    with httpx.Client(base_url=url, timeout=60.0, verify=False) as client:
        until_up(client)
        known = _known(client)
    command = [sys.executable, "-m", "schemathesis.cli", "run", str(PATH), "--url", url, "--no-color"]
    command += ["--checks", "all", "--exclude-checks", NOT_CHECKED, "--phases", PHASES, "--warnings", "off"]
    command += [
        "--max-examples",
        str(examples),
        "--seed",
        str(seed),
        "--request-timeout",
        "30",
        "--continue-on-failure",
    ]
    command += ["--suppress-health-check", "all"]
    environment = {
        **os.environ,
        "SCHEMATHESIS_HOOKS": HOOKS,
        "PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path]),
        KNOWN: json.dumps(known),
    }
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    words = done.stdout[done.stdout.find("= FAILURES =") :] if done.returncode else _summary(done.stdout)
    print(words + done.stderr, file=sys.stderr)
    if out is not None:
        out.write_text(_summary(done.stdout))
    return {"passed": done.returncode == 0, **_figures(done.stdout)}


def _known(client: httpx.Client) -> dict[str, str]:
    """Names of one thing of each kind."""
    body = {"ir": new_ir(schedules=4, faults={0: "crashed"}), "profile": "h200"}
    job = client.post("/v1/jobs", json=body).raise_for_status().json()["id"]
    client.get(f"/v1/jobs/{job}", params={"wait": 60}).raise_for_status()
    candidates = client.get(f"/v1/jobs/{job}/candidates").raise_for_status().json()["items"]
    batch = client.post("/v1/batches", content=json.dumps(body)).raise_for_status().json()["id"]
    client.put("/v1/workers/known", json={"capabilities": ["compile.cuda"]}).raise_for_status()
    details = (client.get(f"/v1/jobs/{job}/candidates/{c['id']}").raise_for_status().json() for c in candidates)
    digest = next(digest for detail in details for digest in detail["artifacts"].values())
    names = {"job_id": job, "candidate_id": candidates[0]["id"], "batch_id": batch, "digest": digest}
    return {**names, "worker_id": "known", "name": "h200"}


def _summary(text: str) -> str:
    return text[text.rfind("=", 0, text.find(" SUMMARY ")) :] if " SUMMARY " in text else text[-3000:]


def _figures(text: str) -> dict[str, Any]:
    """The figures of the summary, by its own labels."""
    summary = _summary(text)
    patterns = {"operations": r"Tested: (\d+)", "selected": r"Selected: (\S+)", "test_cases": r"(\d+) generated"}
    found = {name: re.search(pattern, summary) for name, pattern in patterns.items()}
    failures = {word.strip(): int(count) for word, count in re.findall(r"❌ (ST\d+ .+?): (\d+)", summary)}
    return {**{name: match.group(1) if match else None for name, match in found.items()}, "failures": failures}


if __name__ == "__main__":
    sys.exit(main())
