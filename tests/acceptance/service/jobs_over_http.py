"""Steps that many tests take."""

import time
from typing import Any

import httpx

__all__ = ["candidates", "finished", "submit"]


def submit(client: httpx.Client, ir: str, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/jobs", json={"ir": ir, "profile": "h200", **fields})
    assert response.status_code in (200, 202), response.text
    job: dict[str, Any] = response.json()
    return job


def finished(client: httpx.Client, job_id: str, seconds: float = 240.0) -> dict[str, Any]:
    """The job when it has ended. On a busy machine the first task of a worker's child takes long; a failure may too."""
    until = time.monotonic() + seconds
    while True:
        job: dict[str, Any] = client.get(f"/v1/jobs/{job_id}", params={"wait": 15.0}).json()
        if job["state"] in ("done", "failed", "cancelled") or time.monotonic() > until:
            break
    assert job["state"] in ("done", "failed", "cancelled"), job
    return job


def candidates(client: httpx.Client, job_id: str, **filters: str) -> list[dict[str, Any]]:
    page = client.get(f"/v1/jobs/{job_id}/candidates", params={"limit": 200, **filters}).json()
    assert page["next"] is None
    items: list[dict[str, Any]] = page["items"]
    return items
