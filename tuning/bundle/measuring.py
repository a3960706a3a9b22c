"""Measures a bundle on the machine with the device: no network, no database, the same session as everywhere."""

import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from warpwright.lowering.measure.result import Measured
from warpwright.tuning.bundle.archive import unpack
from warpwright.tuning.bundle.results import write_results
from warpwright.tuning.measure.session import measure_all

__all__ = ["measure_bundle"]


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
    return write_results(contents, report)
