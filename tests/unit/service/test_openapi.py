"""The committed OpenAPI document is the one that the code would write."""

import json

from warpwright.service.openapi import PATH, text
from warpwright.service.version import API_VERSION


def test_no_drift() -> None:
    assert PATH.read_text(encoding="utf-8") == text(), "run: python -m warpwright.service.openapi"


def test_every_operation_documents_its_problems_and_its_token() -> None:
    document = json.loads(PATH.read_text(encoding="utf-8"))
    assert document["info"]["version"] == API_VERSION
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            assert "4XX" in operation["responses"], (method, path)
            assert operation["security"] or path in ("/healthz", "/readyz", "/metrics"), (method, path)


def test_pages_are_bounded() -> None:
    document = json.loads(PATH.read_text(encoding="utf-8"))
    for path, operations in document["paths"].items():
        for parameter in operations.get("get", {}).get("parameters", []):
            if parameter["name"] == "limit":
                assert parameter["schema"]["maximum"] <= 200, path
