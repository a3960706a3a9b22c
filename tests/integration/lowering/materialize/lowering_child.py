"""What TileLang makes of materialized kernels: a child process, ``python lowering_child.py JOBS RESULTS``.

For each job: whether the paste-ready source, executed, gives the same IR, and how many threads TileLang's materialiser
launches. Jobs with ``lower`` are taken down to CUDA text, from the injected IR and from the source.
"""

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import Any

from warpwright.lowering.frontend.irhash import ir_hash
from warpwright.solver.domain import WarpSchedule, load


def main(jobs: Path, results: Path) -> None:
    import tilelang
    from tilelang import tvm

    from benchmarks.differential.oracle import Oracle
    from warpwright.lowering.frontend.bulk_alignment import with_aligned_bulk_copies
    from warpwright.lowering.frontend.walk import walk_kernel

    target = tvm.target.Target({"kind": "cuda", "arch": "sm_90a"})

    def lower(function: Any) -> str:
        with target:
            return str(tilelang.lower(function, target=target).kernel_source)

    def from_source(name: str, text: str) -> Any:
        path = jobs.with_name(f"{name}_source.py")
        path.write_text(text)
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return next(value for value in vars(module).values() if isinstance(value, tvm.tirx.PrimFunc))

    answers = {}
    for job in json.loads(jobs.read_text()):
        name = job["name"]
        function, pasted = tvm.ir.load_json(job["ir"]), from_source(name, job["source"])
        # What every build of ours keeps from the hardware is in the source too.
        meant = tvm.ir.save_json(with_aligned_bulk_copies(function))
        answer: dict[str, Any] = {"same_ir": ir_hash(meant) == ir_hash(tvm.ir.save_json(pasted))}
        try:
            if job.get("unscheduled"):
                pass
            elif job["lower"]:
                cuda = lower(function)
                answer["cuda"], answer["same_cuda"] = cuda, cuda == lower(pasted)
                answer["threads"] = int(re.findall(r"__launch_bounds__\((\d+)", cuda)[0])
                answer["registers"] = sorted(set(re.findall(r"warpgroup_reg_(\w+<\d+>)", cuda)))
            else:
                oracle = Oracle(walk_kernel(tvm.ir.load_json(job["plain"])), "sm_90a")
                answer["threads"] = oracle.materialise(load(WarpSchedule, job["schedule"]))
        except Exception as error:  # noqa: BLE001  # any refusal of TileLang is the test's finding
            answer["error"] = str(error)[-2000:]
        answers[name] = answer
    results.write_text(json.dumps(answers))


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
