"""Traces by OpenTelemetry: spans use only its API, and ``OTEL_*`` variables say whether and where they are exported.

If they name no exporter, or without the extra ``telemetry``, the API's own no-op tracer is used.
Between processes a trace travels as W3C ``traceparent``: in a job's row, in the headers of a Celery message, to a child.
"""

import os
import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version

import structlog
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from warpwright.tuning.children import Cancelled, Refused, Reply, Returned

__all__ = ["carrier", "configure", "ended", "flush", "note", "span", "trace_id", "trace_id_in", "traceparent"]

log = structlog.get_logger(__name__)

NAME = "warpwright"
PLACE = re.compile(r"OTEL_EXPORTER_OTLP(_TRACES)?_ENDPOINT")
DEFAULT_PROTOCOL = "http/protobuf"
FLUSH_SECONDS = 2.0
"""A collector that does not answer must not delay the end of a process."""
_W3C = TraceContextTextMapPropagator()


def configure(component: str) -> None:
    """Export the spans of this process if the environment asks for it; problems are logged and nothing else.

    An existing provider stays: ``opentelemetry-instrument`` or an enclosing application has made it.

    Args:
        component: the service's name in traces, unless ``OTEL_SERVICE_NAME`` or ``OTEL_RESOURCE_ATTRIBUTES`` has one.
    """
    names = _exporters()
    if not names or not isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
        return
    try:
        from opentelemetry.sdk.resources import SERVICE_NAME, Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor

        resource = Resource.create()
        if str(resource.attributes[SERVICE_NAME]).startswith("unknown_service"):
            resource = resource.merge(Resource({SERVICE_NAME: component}))
        provider = TracerProvider(resource=resource)
        for name in names:
            provider.add_span_processor(BatchSpanProcessor(_entry(name).load()()))
    except Exception as error:  # noqa: BLE001 - whatever the exporter's problem, a service without traces is better than no service
        hint = "pip install 'warpwright[telemetry]'" if isinstance(error, ImportError | LookupError) else ""
        log.warning("telemetry-off", exporters=names, error=str(error)[:300], hint=hint)
        return
    trace.set_tracer_provider(provider)


def flush() -> None:
    """Send what was recorded but not exported yet; for a process that ends without running ``atexit``."""
    if (send := getattr(trace.get_tracer_provider(), "force_flush", None)) is not None:
        # The SDK's own limit does not apply while an exporter retries.
        sending = threading.Thread(target=send, name="telemetry-flush", daemon=True)
        sending.start()
        sending.join(FLUSH_SECONDS)


@contextmanager
def span(
    name: str, *, kind: SpanKind = SpanKind.INTERNAL, parent: Mapping[str, str] | None = None, **attributes: str | int
) -> Iterator[Span]:
    """A span around a block, current inside; ``parent`` is a carrier from another process, otherwise the current span."""
    context = _W3C.extract(parent) if parent and parent.get("traceparent") else None
    told = {f"{NAME}.{key}": value for key, value in attributes.items()}
    tracer = trace.get_tracer(NAME, _own_version())
    with tracer.start_as_current_span(name, context=context, kind=kind, attributes=told) as opened:
        yield opened


def ended(opened: Span, reply: Reply) -> None:
    """Records how the task of a span ended; a refusal and a cancellation are answers, not errors."""
    opened.set_attribute(f"{NAME}.reply", type(reply).__name__)
    if not isinstance(reply, Returned | Refused | Cancelled):
        opened.set_status(StatusCode.ERROR)


def note(**attributes: str | int) -> None:
    """Sets attributes of the current span, which may be one of FastAPI's."""
    trace.get_current_span().set_attributes({f"{NAME}.{key}": value for key, value in attributes.items()})


def trace_id() -> str:
    """The current trace's id as log lines show it, 32 hex digits; empty if nothing is traced."""
    context = trace.get_current_span().get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""


def trace_id_in(traceparent: str) -> str:
    """The trace id that a W3C ``traceparent`` names, 32 hex digits; empty when it is not valid."""
    context = trace.get_current_span(_W3C.extract({"traceparent": traceparent}, Context())).get_span_context()
    return trace.format_trace_id(context.trace_id) if context.is_valid else ""


def carrier() -> dict[str, str]:
    """Headers that let another process continue the current span; empty if nothing is traced."""
    headers: dict[str, str] = {}
    _W3C.inject(headers)
    return headers


def traceparent() -> str:
    """The current span in W3C form; empty when nothing is traced."""
    return carrier().get("traceparent", "")


@lru_cache
def _own_version() -> str | None:
    """The package's version; None where it runs from a checkout that is not installed."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return None


def _exporters() -> list[str]:
    """Exporters that the environment asks for. Only naming a place or an exporter switches export on, as in FastAPI."""
    if os.environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return []
    named = os.environ.get("OTEL_TRACES_EXPORTER", "").strip().lower()
    if not named and any(PLACE.fullmatch(key) and value for key, value in os.environ.items()):
        named = "otlp"
    return [each.strip() for each in named.split(",") if each.strip() not in ("", "none")]


def _entry(name: str) -> EntryPoint:
    """The exporter with a standard name, by the entry points that the SDK uses too."""
    if name == "otlp":
        protocol = os.environ.get("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL") or os.environ.get("OTEL_EXPORTER_OTLP_PROTOCOL")
        name = {"http/protobuf": "otlp_proto_http", "grpc": "otlp_proto_grpc"}.get(protocol or DEFAULT_PROTOCOL, "otlp")
    for found in entry_points(group="opentelemetry_traces_exporter", name=name):
        return found
    raise LookupError(f"no trace exporter {name!r} is installed")
