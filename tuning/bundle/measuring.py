"""Measures a bundle on the machine with the device: no network, no database, the same session as everywhere."""

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpwright.lowering.measure.device import DeviceMissing
from warpwright.lowering.measure.result import Measured
from warpwright.solver.domain.errors import WarpwrightError
from warpwright.tuning.bundle.archive import unpack
from warpwright.tuning.bundle.results import write_results
from warpwright.tuning.measure.lease import DeviceBusy
from warpwright.tuning.measure.session import MeasureReport, measure_all
from warpwright.tuning.measuring import ENVIRONMENT

__all__ = ["NothingMeasured", "measure_bundle"]


class NothingMeasured(WarpwrightError):
    """No candidate came to a result, for a reason that is none of theirs."""

    code = "nothing-measured"


def measure_bundle(
    path: Path,
    device: dict[str, Any],
    *,
    budget_seconds: float = 600.0,
    cancel: threading.Event | None = None,
    on_result: Callable[[Measured], None] | None = None,
) -> str:
    """Unpacks, measures, and returns the results document as JSON text; that of a cancelled session is partial and valid.

    Raises:
        BundleError: the file is not a bundle.
        DeviceMissing: this machine does not have the device. DeviceBusy: another session had it for the whole budget.
        NothingMeasured: the device failed, or the session was stopped before its first result.
    """
    with tempfile.TemporaryDirectory(prefix="warpwright-bundle-") as folder:
        contents = unpack(path, Path(folder, "bundle"))
        report = measure_all(
            contents.jobs,
            device,
            protocol=contents.protocol,
            preference=contents.preference,
            groups=contents.groups,
            always_final=contents.always_final,
            baselines=contents.baselines,
            budget_seconds=budget_seconds,
            cancel=cancel,
            on_result=on_result,
        )
    _require_a_result(report)
    return write_results(contents, report)


def _require_a_result(report: MeasureReport) -> None:
    """A document of nothing but what the environment did would only take away what is known."""
    outcomes = [result.outcome for result in report.results]
    if not outcomes or any(outcome.kind not in ENVIRONMENT for outcome in outcomes):
        return
    first = outcomes[0]
    kinds: dict[str, type[WarpwrightError]] = {kind.code: kind for kind in (DeviceMissing, DeviceBusy)}
    code = first.details[0] if first.details else first.kind.value
    raise kinds.get(code, NothingMeasured)(f"nothing was measured: {first.message}")
