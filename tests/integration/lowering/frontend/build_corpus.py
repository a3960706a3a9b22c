"""Builds the corpus and both examples as IR JSON into a folder. A child process: ``python build_corpus.py FOLDER``."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent


def load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def scrubbed(text: str) -> str:
    """The same document without this machine's paths in its spans."""
    document = json.loads(text)
    for node in document["nodes"]:
        if node["type"] == "ir.SourceName":
            node["data"] = re.split(r"[\\/]", node["data"])[-1]
    return json.dumps(document)


def main(folder: Path) -> None:
    from tilelang import tvm

    kernels: dict[str, Any] = {}
    for path in sorted((HERE / "corpus").glob("*.py")):
        module = load(path)
        factories = (
            *getattr(module, "FITTING", ()),
            *getattr(module, "NOT_FITTING", ()),
            *getattr(module, "NOT_BUILDABLE", ()),
        )
        kernels |= {factory.__name__: factory() for factory in factories}
    for name in ("gemm", "attention"):
        example = load(HERE.parents[3] / "examples" / f"{name}.py")
        for index, variant in enumerate(example.VARIANTS):
            kernels[f"example_{name}_{index}"] = example.kernel(**variant)
    for name, function in kernels.items():
        (folder / f"{name}.json").write_text(scrubbed(tvm.ir.save_json(function)))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
