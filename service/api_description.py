"""Additions to the framework's OpenAPI document: problem documents as errors, scopes of tokens, examples of documents."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI
from fastapi.routing import iter_route_contexts

from warpwright.service import recorded_types as recorded_types  # records of measuring and building, by name
from warpwright.service.problems import MEDIA_TYPE, Problem
from warpwright.service.tokens.access import Needs

__all__ = ["EXAMPLES", "describe"]

EXAMPLES = Path(__file__).parent / "api_examples.json"


def describe(app: FastAPI) -> None:
    """Let an application's OpenAPI document list problem documents as the answer to every error."""
    plain = app.openapi

    def described() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _with_scopes(_with_examples(_with_problems(plain())), _scopes(app))
        return app.openapi_schema

    app.openapi = described  # type: ignore[method-assign]  # the framework's documented way to extend the document


def _with_problems(described: dict[str, Any]) -> dict[str, Any]:
    components = described.setdefault("components", {})
    components["schemas"]["Problem"] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    components["schemas"].pop("HTTPValidationError", None)
    components["schemas"].pop("ValidationError", None)
    components["securitySchemes"] = {
        "token": {"type": "http", "scheme": "bearer", "description": "Not needed on loopback."}
    }
    problem = {"content": {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}}
    for operations in described["paths"].values():
        for operation in operations.values():
            operation["responses"].pop("422", None)
            operation["responses"]["4XX"] = {"description": "A problem document: the request is refused.", **problem}
            operation["responses"]["503"] = {"description": "A problem document: try again later.", **problem}
    return described


def _with_examples(described: dict[str, Any]) -> dict[str, Any]:
    """Adds an example to each schema of a document (``api_examples.json``: one real tuning on an H200)."""
    for name, examples in json.loads(EXAMPLES.read_text("utf-8")).items():
        described["components"]["schemas"][name]["examples"] = examples
    return described


def _with_scopes(described: dict[str, Any], scopes: Mapping[tuple[str, str], str]) -> dict[str, Any]:
    """Adds to each operation the scope that its token needs; on loopback no token is needed."""
    for path, operations in described["paths"].items():
        for method, operation in operations.items():
            scope = operation.pop("x-scope", None) or scopes.get((path, method))
            operation["security"] = [{}, {"token": [scope]}] if scope else []
    return described


def _scopes(app: FastAPI) -> dict[tuple[str, str], str]:
    """Scopes by path and method, from the dependencies that require them."""
    return {
        (str(found.path), method.lower()): need.call.scope.value
        for found in iter_route_contexts(app.routes)
        for need in getattr(getattr(found, "dependant", None), "dependencies", ())
        if isinstance(need.call, Needs)
        for method in found.methods or ()
    }
