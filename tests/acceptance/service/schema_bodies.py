"""What schemathesis must be told of our interface: how a batch looks, and names of things that exist.

Imported by the acceptance test, and by schemathesis itself as its hooks (``benchmarks.api``).
"""

import json
import os
from typing import Any

import schemathesis
from hypothesis import strategies as st

from warpwright.service.openapi import PATH
from warpwright.service.testing import stand_in_ir

__all__ = ["KNOWN", "document"]

KNOWN = "WARPWRIGHT_TEST_KNOWN_NAMES"
"""Environment variable: JSON object of path parameter -> a value that exists, such as ``{"job_id": "job_…"}``."""


def document() -> dict[str, Any]:
    """The committed OpenAPI document."""
    described: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return described


def _lines() -> st.SearchStrategy[bytes]:
    """JSON lines: bodies as the schema of a submission has them, kernels that the stand-in reads, and text that is no JSON."""
    job = schemathesis.openapi.from_dict(document())["/v1/jobs"]["POST"]
    generated = job.as_strategy().map(lambda case: case.body)
    readable = st.builds(
        lambda number, fault: {
            "ir": stand_in_ir(f"k{number}", schedules=2, faults={0: fault} if fault else {}),
            "profile": "h200",
        },
        st.integers(0, 5),
        st.sampled_from(("", "crashed", "over_resource")),
    )
    labelled = st.builds(lambda body, label: {**body, "label": label}, st.one_of(readable, generated), st.text())
    line = st.one_of(labelled.map(json.dumps), labelled.map(json.dumps), st.text(max_size=20))
    return st.lists(line, max_size=6).map(lambda lines: "\n".join(lines).encode("utf-8", "replace"))


schemathesis.openapi.media_type("application/x-ndjson", _lines())


@schemathesis.hook
def map_path_parameters(context: Any, path_parameters: Any) -> Any:
    """Half of the generated names become the name of something that exists, or every request would end as "unknown"."""
    known: dict[str, str] = json.loads(os.environ.get(KNOWN, "{}"))
    removes = context.operation.method.upper() == "DELETE"
    if not isinstance(path_parameters, dict) or removes:
        return path_parameters
    return {
        name: known[name] if name in known and len(str(value)) % 2 else value for name, value in path_parameters.items()
    }
