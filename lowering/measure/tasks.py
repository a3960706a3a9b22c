"""The task of a device's child. One child owns one device; torch is imported here, or when a CUDA device is opened."""

import importlib
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from warpwright.lowering.compile.result import from_document as kernel_from
from warpwright.lowering.emit import emit
from warpwright.lowering.measure.device import DeviceMissing, DevicePort
from warpwright.lowering.measure.identity import cuda_facts, device_identity
from warpwright.lowering.measure.protocol import PROTOCOLS
from warpwright.lowering.measure.result import to_document
from warpwright.lowering.measure.runner import MeasureJob, OtherSize, measure, rounds
from warpwright.lowering.measure.watched_device import WatchedDevice
from warpwright.solver.domain.errors import DocumentError

__all__ = ["job_from", "measure_device"]


def measure_device(payload: dict[str, Any]) -> dict[str, Any]:
    """Task ``measure.device``: ``action`` identify, describe, probe, measure (one job), screening or rounds (several).

    The first two do not use the device: a session on it is not disturbed. ``identify`` also loads the libraries that the
    others need, so that a session need not wait for them while it holds the device.

    ``device`` is the device, ``protocol`` the protocol, ``jobs`` the jobs (:func:`job_from`), ``expected_ns`` the
    expected time of a launch of each kernel, by ``watched_device.named``.

    Returns ``{"identity"}``, ``{"facts"}``, ``{"facts", "conditions", "canary"}``, or ``{"result"}``: a document of a measurement
    or of rounds.
    """
    action = payload["action"]
    if action == "identify":
        _load_libraries(payload["device"])
        return {"identity": device_identity(payload["device"])}
    if action == "describe" and payload["device"].get("kind") == "cuda":
        return {"facts": _plain(cuda_facts(int(payload["device"].get("index", 0))))}
    device = _open(payload["device"])
    if action == "describe":
        return {"facts": _plain(device.facts())}
    if action == "probe":
        facts, conditions = device.facts(), device.conditions()
        return {"facts": _plain(facts), "conditions": _plain(conditions), "canary": device.canary()}
    protocol = PROTOCOLS[payload["protocol"]]
    jobs = [job_from(job) for job in payload["jobs"]]
    device = WatchedDevice(device, payload.get("expected_ns", {}))
    if action == "measure":
        return {"result": to_document(measure(device, jobs[0], protocol))}
    if action in ("screening", "rounds"):
        screening = action == "screening"
        found = rounds(device, jobs, protocol, lambda figures: emit({"round": figures}), screening=screening)
        return {"result": to_document(found)}
    raise DocumentError(f"there is no action {action!r}", place="/action")


def job_from(document: dict[str, Any]) -> MeasureJob:
    """A job from its JSON form (``candidate``, ``kernel``, ``reference`` or null, ``floor_ns``, ``expected_ns``, ``also``)."""
    reference = document.get("reference")
    return MeasureJob(
        candidate=document["candidate"],
        kernel=kernel_from(document["kernel"]),
        reference=kernel_from(reference) if reference else None,
        floor_ns=float(document.get("floor_ns", 0.0)),
        expected_ns=float(document.get("expected_ns", 0.0)),
        also=tuple(
            OtherSize(str(other["name"]), kernel_from(other["kernel"]), kernel_from(other["reference"]))
            for other in document.get("also", [])
        ),
    )


def _cuda(options: dict[str, Any]) -> DevicePort:
    from warpwright.lowering.measure.cuda import CudaDevice

    return CudaDevice(int(options.get("index", 0)))


def _npu(options: dict[str, Any]) -> DevicePort:
    from warpwright.lowering.measure.npu import open_npu

    return open_npu(int(options.get("index", 0)))


def _simulated(options: dict[str, Any]) -> DevicePort:
    from warpwright.lowering.testing.device import SimulatedDevice

    return SimulatedDevice(options)


def _host(options: dict[str, Any]) -> DevicePort:
    from warpwright.lowering.testing.host_device import HostDevice

    return HostDevice()


KINDS: dict[str, Callable[[dict[str, Any]], DevicePort]] = {
    "cuda": _cuda,
    "npu": _npu,
    "simulated": _simulated,
    "host": _host,
}
"""Devices by kind: a static list, as for tasks."""


def _load_libraries(options: dict[str, Any]) -> None:
    """Imports libraries that take seconds and open nothing."""
    if options.get("kind") == "cuda":
        with suppress(ImportError):  # reported when the device is opened
            importlib.import_module("torch")


_opened: dict[str, DevicePort] = {}


def _open(options: dict[str, Any]) -> DevicePort:
    kind = str(options.get("kind"))
    if kind not in KINDS:
        raise DeviceMissing(f"there is no device kind {kind!r}", place="/device/kind")
    key = repr(sorted(options.items()))
    if key not in _opened:
        _opened[key] = KINDS[kind](options)
    return _opened[key]


def _plain(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}
