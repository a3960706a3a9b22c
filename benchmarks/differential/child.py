"""The side with TileLang: ``python -m benchmarks.differential.child``, one JSON request per line on stdin, one answer per line.

``{"build": kernel, "arch": ...}`` -> ``{"ir": ...}``; ``{"kernel": ..., "ir": ..., "arch": ..., "schedules": [...]}`` ->
``{"refusals": [reason or null, ...]}``.
"""

import json
import sys
from typing import Any

from benchmarks.differential.oracle import Oracle
from benchmarks.kernels.differential import KERNELS
from warpwright.lowering.frontend.tasks import load_function
from warpwright.lowering.frontend.walk import walk_kernel
from warpwright.solver.domain import WarpSchedule, load

__all__ = ["main"]


def main() -> None:
    """Answer requests until stdin ends."""
    from tilelang import tvm

    # The compiler prints to stdout at will: answers get a descriptor of their own.
    answers, sys.stdout = sys.stdout, sys.stderr
    oracles: dict[str, Oracle] = {}
    for line in sys.stdin:
        request: dict[str, Any] = json.loads(line)
        if "build" in request:
            answer: dict[str, Any] = {"ir": tvm.ir.save_json(KERNELS[request["build"]]())}
        else:
            key = request["kernel"]
            if key not in oracles:
                oracles[key] = Oracle(walk_kernel(load_function(request["ir"])), request["arch"])
            answer = {"refusals": [oracles[key].refusal(load(WarpSchedule, s)) for s in request["schedules"]]}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
