"""Export of traces is off unless the environment asks for it, and nothing that is wrong with it stops a process."""

import json
import os
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest

from warpwright.tuning import telemetry
from warpwright.tuning.telemetry import _exporters, carrier, span, trace_id, traceparent

ENDPOINT = {"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:9"}


@pytest.mark.parametrize(
    ("environment", "names"),
    [
        ({}, []),
        (ENDPOINT, ["otlp"]),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:9/v1/traces"}, ["otlp"]),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:9/v1/metrics"}, []),
        ({"OTEL_EXPORTER_OTLP_ENDPOINT": ""}, []),
        ({"OTEL_TRACES_EXPORTER": "otlp"}, ["otlp"]),
        ({"OTEL_TRACES_EXPORTER": "console, otlp"}, ["console", "otlp"]),
        ({**ENDPOINT, "OTEL_TRACES_EXPORTER": "none"}, []),
        ({**ENDPOINT, "OTEL_SDK_DISABLED": "True"}, []),
        ({**ENDPOINT, "OTEL_SERVICE_NAME": "x"}, ["otlp"]),
        ({"OTEL_SERVICE_NAME": "x"}, []),
    ],
)
def test_who_asks_for_export(environment: dict[str, str], names: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert _exporters() == names


def test_without_a_provider_spans_are_nothing() -> None:
    with span("task x", job="j") as opened:
        assert not opened.is_recording()
        assert (trace_id(), traceparent(), carrier()) == ("", "", {})


PROGRAM = """
import sys
{before}
from warpwright.service.logs import configure as logs
from warpwright.tuning import telemetry
logs("json")
telemetry.configure("a-component")
with telemetry.span("x"):
    print(type(telemetry.trace.get_tracer_provider()).__name__, telemetry.traceparent() != "")
"""


def outcome(before: str = "", **environment: str) -> tuple[str, list[dict[str, str]]]:
    """What a fresh process prints, and its log lines."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(before=before)],
        env={**kept, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return ran.stdout.strip(), [json.loads(line) for line in ran.stderr.splitlines()]


def test_off_by_default_and_nothing_of_the_sdk_is_loaded() -> None:
    before = "sys.modules['opentelemetry.sdk'] = None"
    assert outcome(before) == ("ProxyTracerProvider False", [])


def test_without_the_extra_it_says_how_to_get_it_and_goes_on() -> None:
    before = "sys.modules['opentelemetry.sdk'] = sys.modules['opentelemetry.sdk.resources'] = None"
    printed, (line,) = outcome(before, **ENDPOINT)
    assert printed == "ProxyTracerProvider False"
    assert (line["event"], line["hint"]) == ("telemetry-off", "pip install 'warpwright[telemetry]'")


def test_a_transport_that_is_not_installed_is_named() -> None:
    printed, (line,) = outcome(OTEL_EXPORTER_OTLP_PROTOCOL="grpc", **ENDPOINT)
    assert printed == "ProxyTracerProvider False"
    assert "otlp_proto_grpc" in line["error"]


def test_a_provider_that_is_there_stays() -> None:
    before = "from opentelemetry import trace\ntrace.set_tracer_provider(trace.NoOpTracerProvider())"
    assert outcome(before, OTEL_TRACES_EXPORTER="console") == ("NoOpTracerProvider False", [])


def test_a_collector_that_hangs_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    hanging = threading.Event()
    monkeypatch.setattr(telemetry, "FLUSH_SECONDS", 0.1)
    provider = SimpleNamespace(force_flush=hanging.wait)  # for ever: a flush that waits for it never returns
    monkeypatch.setattr("opentelemetry.trace.get_tracer_provider", lambda: provider)
    telemetry.flush()
    hanging.set()


def test_the_environment_switches_it_on() -> None:
    # The exporter of the SDK that needs no collector prints each span when it ends.
    printed, lines = outcome(OTEL_TRACES_EXPORTER="console")
    assert printed.startswith("TracerProvider True")
    assert '"name": "x"' in printed
    assert '"service.name": "a-component"' in printed
    assert lines == []
