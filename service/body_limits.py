"""How long the body of a request may be, by route: what the route needs, and nothing more."""

from warpwright.service.settings import Settings

__all__ = ["body_limit"]

ESCAPED = 2
"""An IR inside JSON: every quote and backslash may take two bytes."""


def body_limit(method: str, path: str, settings: Settings) -> int:
    """Bytes that the body of a request to this path may have."""
    if path == "/login":
        return settings.max_login_bytes
    if method == "POST" and path == "/v1/batches":
        return settings.max_batch_bytes
    if path in ("/v1/solve", "/v1/results:lookup"):
        return ESCAPED * settings.max_ir_bytes + settings.max_document_bytes
    takes_all = (
        (method == "POST" and path == "/v1/jobs")
        or (method == "PUT" and path.startswith("/v1/artifacts/"))
        or (path.startswith("/v1/jobs/") and path.endswith(":tell"))
    )
    return settings.max_body_bytes if takes_all else settings.max_document_bytes
