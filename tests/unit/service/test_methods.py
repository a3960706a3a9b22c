"""``Allow`` names the methods of the path that was meant."""

import pytest

from warpwright.service.methods import allowed_methods

DESCRIBED = {
    "paths": {
        "/v1/jobs": {"get": {}, "post": {}},
        "/v1/jobs/{job_id}": {"get": {}, "delete": {}, "parameters": []},
        "/v1/jobs/{job_id}:cancel": {"post": {}},
        "/v1/jobs/{job_id}/log": {"get": {}},
    }
}


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/v1/jobs", ["GET", "POST"]),
        ("/v1/jobs/job_1", ["DELETE", "GET"]),
        ("/v1/jobs/job_1:cancel", ["POST"]),
        ("/v1/jobs/job_1:other", ["DELETE", "GET"]),
        ("/v1/jobs/job_1/log", ["GET"]),
        ("/v1/jobs/a/b", []),
        ("/elsewhere", []),
    ],
)
def test_methods_of_a_path(path: str, methods: list[str]) -> None:
    assert allowed_methods(DESCRIBED, path) == methods
