"""Lowers kernels with annotated layouts as they are and as they come out of their JSON: ``python layouts_child.py RESULTS``."""

import json
import sys
from pathlib import Path

import tilelang
import tilelang.language as T
from tilelang import tvm

from tests.integration.lowering.frontend.build_corpus import HERE, load
from warpwright.lowering.compile.lower import read_ir


def main(results: Path) -> None:
    swizzled = tilelang.layout.make_swizzled_layout(tvm.tirx.decl_buffer((64, 64), "float16"))
    kinds = {
        "shared": {"tile": swizzled},
        "fragment": {"part": T.Fragment((64, 64), forward_fn=lambda i, j: (i * 2 + j // 32, j % 32))},
        "replicated": {"row": T.Fragment((64,), forward_thread_fn=lambda i, rep: i * 2 + rep, replicate=2)},
    }
    kernel = load(HERE / "corpus" / "layouts.py").kernel
    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})
    found = {}
    for name, layouts in kinds.items():
        function = kernel(layouts)
        with target:
            sources = [
                tilelang.lower(f, target=target).kernel_source for f in (function, read_ir(tvm.ir.save_json(function)))
            ]
        found[name] = sources
    results.write_text(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
