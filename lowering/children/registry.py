"""The tasks that a child may run: name -> ``package.module:function``. Looked up in the child only; the parent imports none.

A static list, so that no request can name a function of its own. A task takes one JSON object and returns one JSON object.
"""

from collections.abc import Mapping
from types import MappingProxyType

__all__ = ["TASKS"]

TASKS: Mapping[str, str] = MappingProxyType(
    {
        "frontend.read": "lowering.frontend.tasks:read",
        "frontend.hash": "lowering.frontend.hash_task:hash_ir",
        "materialize.warp": "lowering.materialize.tasks:warp",
        "compile.cuda": "lowering.compile.tasks:compile_cuda",
        "measure.device": "lowering.measure.tasks:measure_device",
        "frontend.read_ascend": "service.ascend.tasks:read_ascend",
        "materialize.ascend": "service.ascend.tasks:materialize_ascend",
        "compile.ascend": "service.ascend.tasks:compile_ascend",
        "lower.ascend": "service.ascend.tasks:lower_ascend",
        "propose.buffer": "service.ascend.tasks:propose_buffer",
        "solve.buffer": "service.ascend.tasks:solve_buffer",
        "propose.warp": "service.tuning.tasks:propose_warp",
        "explain.warp": "service.tuning.tasks:explain_warp",
        "solve.warp": "service.tuning.tasks:solve_warp",
        "measure.session": "service.workers.measuring:measure_session",
        "stand_in.step": "service.testing.tasks:step",
        "stand_in.read": "service.testing.tasks:read",
        "stand_in.propose": "service.testing.tasks:propose",
        "stand_in.solve": "service.testing.tasks:solve",
        "stand_in.explain": "service.testing.tasks:explain",
        "stand_in.materialize": "service.testing.tasks:materialize",
        "stand_in.compile": "service.testing.tasks:compile_one",
        "kernel_file.read": "warpwright.kernel_child:read",
        "testing.echo": "lowering.testing.misbehaving:echo",
        "testing.hang": "lowering.testing.misbehaving:hang",
        "testing.spin": "lowering.testing.misbehaving:spin",
        "testing.freeze": "lowering.testing.misbehaving:freeze",
        "testing.segfault": "lowering.testing.misbehaving:segfault",
        "testing.exit": "lowering.testing.misbehaving:leave",
        "testing.allocate": "lowering.testing.misbehaving:allocate",
        "testing.orphan": "lowering.testing.misbehaving:orphan",
        "testing.orphan_then_hang": "lowering.testing.misbehaving:orphan_then_hang",
        "testing.flood": "lowering.testing.misbehaving:flood",
        "testing.flood_reply": "lowering.testing.misbehaving:flood_reply",
        "testing.scribble": "lowering.testing.misbehaving:scribble",
        "testing.refuse": "lowering.testing.misbehaving:refuse",
        "testing.fail": "lowering.testing.misbehaving:fail",
        "testing.burn": "lowering.testing.misbehaving:burn",
        "testing.scratch": "lowering.testing.misbehaving:scratch",
        "testing.build": "lowering.testing.misbehaving:build_with",
        "testing.steps": "lowering.testing.misbehaving:steps",
        "testing.print_late": "lowering.testing.misbehaving:print_late",
    }
)
"""Every task of the product. Some targets live in higher folders: the names are data here, not imports."""
