"""Request bodies mean what their JSON Schema says: nothing is taken for a number or for true that is none."""

from collections.abc import Iterator

import pytest
from pydantic import BaseModel, JsonValue, ValidationError

from warpwright.service.jobs.schemas import JobSubmission
from warpwright.service.profiles.schemas import ProfileUpload
from warpwright.service.results.schemas import LookupRequest, RefreshRequest
from warpwright.service.solve.schemas import SolveRequest
from warpwright.service.tokens.schemas import TokenRequest, TokenRotation
from warpwright.service.workers.schemas import WorkerReport

BODIES: tuple[type[BaseModel], ...] = (
    JobSubmission,
    ProfileUpload,
    LookupRequest,
    RefreshRequest,
    SolveRequest,
    TokenRequest,
    TokenRotation,
    WorkerReport,
)
WRONG: dict[str, tuple[JsonValue, ...]] = {
    "integer": (True, "1", 1.5),
    "number": (False, "1.5"),
    "boolean": (1, "true", "yes", 0.0),
    "string": (1, True),
}


def fields() -> Iterator[tuple[type[BaseModel], str, str]]:
    """Each plain field of each body: model, name, JSON type."""
    for model in BODIES:
        for name, described in model.model_json_schema()["properties"].items():
            kinds = {part.get("type") for part in described.get("anyOf", [described])} - {"null"}
            if len(kinds) == 1 and (kind := kinds.pop()) in WRONG:
                yield model, name, kind


@pytest.mark.parametrize(("model", "name", "kind"), list(fields()))
def test_a_value_of_another_json_type_is_refused(model: type[BaseModel], name: str, kind: str) -> None:
    for wrong in WRONG[kind]:
        with pytest.raises(ValidationError):
            model.__pydantic_validator__.validate_assignment(model.model_construct(), name, wrong)


def test_there_are_fields_of_every_type() -> None:
    assert {kind for _, _, kind in fields()} == set(WRONG)


def test_a_whole_number_written_as_a_float_is_an_integer() -> None:
    assert JobSubmission.model_validate({"ir": "x", "profile": "h200", "seed": 5.0}).seed == 5


def test_all_bodies_of_the_interface_are_here() -> None:
    from warpwright.service.app import create_app
    from warpwright.service.settings import Settings

    described = create_app(Settings()).openapi()
    bodies = set()
    for operations in described["paths"].values():
        for operation in operations.values():
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            bodies.add(content.get("schema", {}).get("$ref", "").rpartition("/")[2])
    # ":tell" takes a document with a schema of its own.
    assert bodies - {""} == {model.__name__ for model in BODIES}
