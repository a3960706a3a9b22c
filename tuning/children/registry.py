"""The tasks that a child may run: name -> ``package.module:function``. Looked up in the child only; the parent
imports none of them.

A static list, so that no request can name a function of its own. A task takes one JSON object and returns one JSON object.
"""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["TASKS"]

TASKS: Mapping[str, str] = MappingProxyType(
    {
        "frontend.read": "warpwright.lowering.frontend.tasks:read",
        "frontend.hash": "warpwright.lowering.frontend.hash_task:hash_ir",
        "materialize.plain": "warpwright.lowering.materialize.tasks:plain",
        "materialize.warp": "warpwright.lowering.materialize.tasks:warp",
        "compile.cuda": "warpwright.lowering.compile.tasks:compile_cuda",
        "measure.device": "warpwright.lowering.measure.tasks:measure_device",
        "frontend.read_ascend": "warpwright.tuning.ascend.tasks:read_ascend",
        "materialize.ascend": "warpwright.tuning.ascend.tasks:materialize_ascend",
        "compile.ascend": "warpwright.tuning.ascend.tasks:compile_ascend",
        "lower.ascend": "warpwright.tuning.ascend.tasks:lower_ascend",
        "propose.buffer": "warpwright.tuning.ascend.tasks:propose_buffer",
        "solve.buffer": "warpwright.tuning.ascend.tasks:solve_buffer",
        "propose.warp": "warpwright.tuning.solver_tasks:propose_warp",
        "explain.warp": "warpwright.tuning.solver_tasks:explain_warp",
        "recheck.answer": "warpwright.tuning.recheck_tasks:recheck_answer",
        "recheck.certificate": "warpwright.tuning.recheck_tasks:recheck_certificate",
        "solve.warp": "warpwright.tuning.solver_tasks:solve_warp",
        "measure.session": "warpwright.tuning.measure.worker_session:measure_session",
        "stand_in.step": "warpwright.tuning.testing.tasks:step",
        "stand_in.copy": "warpwright.tuning.testing.tasks:copy",
        "stand_in.read": "warpwright.tuning.testing.tasks:read",
        "stand_in.propose": "warpwright.tuning.testing.tasks:propose",
        "stand_in.solve": "warpwright.tuning.testing.tasks:solve",
        "stand_in.explain": "warpwright.tuning.testing.tasks:explain",
        "stand_in.materialize": "warpwright.tuning.testing.tasks:materialize",
        "stand_in.compile": "warpwright.tuning.testing.tasks:compile_one",
        "kernel_file.read": "warpwright.kernel_child:read",
        "kernel_file.read_all": "warpwright.kernel_child:read_all",
        "testing.echo": "warpwright.lowering.testing.misbehaving:echo",
        "testing.late": "warpwright.lowering.testing.misbehaving:late",
        "testing.hang": "warpwright.lowering.testing.misbehaving:hang",
        "testing.spin": "warpwright.lowering.testing.misbehaving:spin",
        "testing.freeze": "warpwright.lowering.testing.misbehaving:freeze",
        "testing.segfault": "warpwright.lowering.testing.misbehaving:segfault",
        "testing.exit": "warpwright.lowering.testing.misbehaving:leave",
        "testing.allocate": "warpwright.lowering.testing.misbehaving:allocate",
        "testing.orphan": "warpwright.lowering.testing.misbehaving:orphan",
        "testing.orphan_then_hang": "warpwright.lowering.testing.misbehaving:orphan_then_hang",
        "testing.flood": "warpwright.lowering.testing.misbehaving:flood",
        "testing.flood_reply": "warpwright.lowering.testing.misbehaving:flood_reply",
        "testing.scribble": "warpwright.lowering.testing.misbehaving:scribble",
        "testing.refuse": "warpwright.lowering.testing.misbehaving:refuse",
        "testing.fail": "warpwright.lowering.testing.misbehaving:fail",
        "testing.burn": "warpwright.lowering.testing.misbehaving:burn",
        "testing.scratch": "warpwright.lowering.testing.misbehaving:scratch",
        "testing.build": "warpwright.lowering.testing.misbehaving:build_with",
        "testing.steps": "warpwright.lowering.testing.misbehaving:steps",
        "testing.print_late": "warpwright.lowering.testing.misbehaving:print_late",
    }
)
"""Every task of the product. Some targets live in higher folders: the names are data here, not imports."""
