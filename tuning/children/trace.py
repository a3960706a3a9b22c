"""The trace that a task belongs to: a bare trace id, or the W3C form that names the span around it as well."""

__all__ = ["trace_id_of"]


def trace_id_of(trace: str) -> str:
    """The trace id as log lines show it."""
    parts = trace.split("-")
    return parts[1] if len(parts) == 4 else trace
