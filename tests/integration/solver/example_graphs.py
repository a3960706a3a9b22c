"""Child script: the graphs of an example's variants as JSON. Imports TileLang.

``python example_graphs.py`` reads ``[{"kernel": "gemm", "params": {...}}, ...]`` from standard input.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType

from tilelang import tvm

from warpwright.lowering.frontend.tasks import read
from warpwright.solver.domain import dump
from warpwright.solver.profiles import load_profile

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"


def example(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main() -> None:
    profile, graphs = dump(load_profile("h200")), []
    for case in json.load(sys.stdin):
        function = example(case["kernel"]).kernel(**case["params"])
        graphs.append(read({"ir": tvm.ir.save_json(function), "profile": profile})["graph"])
    sys.stdout.write("\n" + json.dumps(graphs))


if __name__ == "__main__":
    main()
