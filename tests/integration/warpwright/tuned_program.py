"""A program with ``@warpwright.tuned``, run as a child process by the test beside it: it needs TileLang in its process.

Prints one JSON object. The compiler's default is replaced by a marker, so that only the scheduled kernel is really compiled.
"""

import json
import logging
import sys
import time
from pathlib import Path
from typing import Any

import tilelang

from solver.domain import HardwareProfile, WarpSchedule, loads
from warpwright import tuned
from warpwright.tuning import Choice

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))
from gemm import kernel as gemm  # type: ignore[import-not-found]  # found through the line above

SIZES = {"M": 512, "N": 512, "K": 512}


class Fixed:
    """A source that knows what it is told, or fails."""

    def __init__(self, choice: Choice | None = None, error: Exception | None = None) -> None:
        self.choice, self.error, self.improved = choice, error, 0

    def find(self, ir: str, profile: HardwareProfile) -> Choice | None:
        if self.error is not None:
            raise self.error
        return self.choice

    def improve(self, name: str, ir: str, profile: HardwareProfile) -> None:
        self.improved += 1


def marked(source: Fixed, **options: Any) -> Any:
    """The kernel under ``@tuned``, its default compilation replaced by a marker."""
    plain = tilelang.jit(target={"kind": "cuda", "arch": "sm_90a"})(gemm)
    plain.compile = lambda *arguments, **keywords: "default"
    return tuned(plain, profile="h200", source=source, **options)(**SIZES)


def main(schedule_path: str) -> None:
    logging.basicConfig(level=logging.INFO, stream=sys.stderr)
    schedule = loads(WarpSchedule, Path(schedule_path).read_text())
    wrong = WarpSchedule(schedule.num_warps, schedule.roles, schedule.pipelines, schedule.scopes[:1])
    asleep = Fixed()
    answer = {
        "unknown": marked(Fixed()),
        "away": marked(Fixed(error=ConnectionError("server away"))),
        "baseline": marked(Fixed(Choice("default", None, "test"))),
        "wrong": marked(Fixed(Choice("scheduled", wrong, "test"))),
        "background": marked(asleep, tune="background"),
    }
    deadline = time.monotonic() + 10.0
    while not asleep.improved and time.monotonic() < deadline:
        time.sleep(0.01)
    flushed = tuned(profile="h200", source=asleep, build_options=["flush_denormals"])(gemm)
    built = tuned(profile="h200", source=Fixed(Choice("scheduled", schedule, "test")))(gemm)(**SIZES)
    answer |= {"improved": asleep.improved, "source": built.get_kernel_source(), "configs": flushed.pass_configs}
    print(json.dumps(answer))


if __name__ == "__main__":
    main(sys.argv[1])
