"""Child script: reads the landscape kernels with TileLang and the frontend, writes their graphs as JSON to standard output.

Run by ``test_landscape_kernels.py`` in a process of its own; it imports TileLang.
"""

import json
import sys

from tilelang import tvm

from benchmarks.kernels import attention, gemm
from warpwright.lowering.frontend.tasks import read
from warpwright.solver.domain import dump
from warpwright.solver.profiles import load_profile


def main() -> None:
    profile = dump(load_profile("h200"))
    graphs = []
    for case in json.loads(sys.argv[1]):
        make = {"gemm": gemm.plain, "attention": attention.plain}[case["kernel"]]
        graphs.append(read({"ir": tvm.ir.save_json(make(*case["parameters"])), "profile": profile})["graph"])
    sys.stdout.write("\n" + json.dumps(graphs))


if __name__ == "__main__":
    main()
