"""Which methods a path has, for the ``Allow`` header of 405. Read from the OpenAPI document, so that both agree."""

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["allowed_methods"]

_PARAMETER = re.compile(r"\\\{[^/]+?\\\}")
_METHODS = ("get", "put", "post", "delete", "patch", "head", "options")


def allowed_methods(described: Mapping[str, Any], path: str) -> list[str]:
    """Methods of a path in upper case, sorted; empty if the document does not have the path.

    ``/v1/jobs/job_1:cancel`` also matches the pattern of a job; the path with the verb takes precedence.
    """
    fitting = [template for template in described["paths"] if _pattern(template).fullmatch(path)]
    meant = [template for template in fitting if ":" in template] or fitting
    return sorted(
        {method.upper() for template in meant for method in described["paths"][template] if method in _METHODS}
    )


def _pattern(template: str) -> re.Pattern[str]:
    return re.compile(_PARAMETER.sub("[^/]+", re.escape(template)))
