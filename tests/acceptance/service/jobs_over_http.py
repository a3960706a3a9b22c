"""Steps that many tests take."""

from typing import Any

import httpx

__all__ = ["candidates", "finished", "submit"]


def submit(client: httpx.Client, ir: str, **fields: Any) -> dict[str, Any]:
    response = client.post("/v1/jobs", json={"ir": ir, "profile": "h200", **fields})
    assert response.status_code in (200, 202), response.text
    job: dict[str, Any] = response.json()
    return job


def finished(client: httpx.Client, job_id: str, seconds: float = 30.0) -> dict[str, Any]:
    job: dict[str, Any] = client.get(f"/v1/jobs/{job_id}", params={"wait": seconds}).json()
    assert job["state"] in ("done", "failed", "cancelled"), job
    return job


def candidates(client: httpx.Client, job_id: str, **filters: str) -> list[dict[str, Any]]:
    page = client.get(f"/v1/jobs/{job_id}/candidates", params={"limit": 200, **filters}).json()
    assert page["next"] is None
    items: list[dict[str, Any]] = page["items"]
    return items
