"""TileLang: IR to CUDA source with a launcher around it. Imports TileLang and TVM: child processes only.

The launcher is the one of TileLang's cython backend (0.1.15 wheel, ``jit/adapter/wrapper.py``): ``init``, ``call(pointers...,
stream)`` and ``get_last_error``. Built with a static CUDA runtime it needs nothing but the driver, so no TileLang at run time.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from tilelang.backend.module import create_backend_context
from tilelang.engine.lower import device_codegen_without_compile, lower_to_host_device_ir
from tilelang.jit.adapter.wrapper import TLWrapper
from tvm import IRModule, ir, tirx, transform
from tvm.target import Target

from warpwright.lowering.compile.empty_loops import guard_empty_loops
from warpwright.lowering.compile.proxy_fences import with_proxy_fences
from warpwright.lowering.compile.result import Argument
from warpwright.lowering.compile.tensor_memory_end import with_tensor_memory_kept
from warpwright.lowering.compile.unpipelined import unpipelined
from warpwright.lowering.compile.waiting_products import with_waiting_products
from warpwright.lowering.frontend.author_settings import AuthorSettings
from warpwright.lowering.frontend.bulk_alignment import with_aligned_bulk_copies
from warpwright.lowering.frontend.launch import launch_tensors
from warpwright.lowering.frontend.placeholders import own_placeholders
from warpwright.lowering.frontend.settings_attributes import settings_of, with_settings
from warpwright.solver.domain.candidate import CandidateKind
from warpwright.solver.domain.errors import DocumentError

__all__ = ["Lowered", "arguments", "lower", "pass_configs_of", "read_ir"]

PASS_CONFIGS: dict[CandidateKind, dict[str, Any]] = {
    CandidateKind.SCHEDULED: {},
    CandidateKind.DEFAULT: {},
    CandidateKind.ROLE_BASED: {"tl.enable_auto_warp_specialization": "role_based"},
    CandidateKind.UNSPECIALIZED: {"tl.disable_warp_specialized": True},
}
"""Pass configurations of each variant (0.1.15 wheel, ``transform/pass_config.py:73,79``)."""

READS, WRITES = 1, 2
"""Bits of the access mask of ``tl.region``."""

REPAIRED = "proxy_fences_added"
"""Detail of an outcome whose build differs from TileLang's by added fences."""

KEPT = "tensor_memory_kept"
"""Detail of an outcome whose build differs from TileLang's by a barrier before tensor memory is freed."""

ACCESS: dict[int, Literal["in", "out", "inout"]] = {0: "in", READS: "in", WRITES: "out", READS | WRITES: "inout"}


@dataclass(frozen=True, slots=True)
class Lowered:
    """One lowered kernel. ``source`` is the device code, ``launcher`` the same with host code around it.

    ``unpipelined``: the loops are plain, for TileLang's software pipelining refuses them or would change what they compute.
    ``fences_added``: fences between the proxies that TileLang left out and that were added to the code
    (:mod:`warpwright.lowering.compile.proxy_fences`).
    ``ends_together``: a barrier was added before tensor memory is freed (:mod:`warpwright.lowering.compile.tensor_memory_end`).
    """

    kernel: str
    source: str
    launcher: str
    grid: tuple[int, int, int]
    block_threads: int
    dynamic_shared_bytes: int
    unpipelined: bool = False
    fences_added: int = 0
    ends_together: bool = False

    @property
    def details(self) -> tuple[str, ...]:
        """Details for the outcome."""
        words = (("unpipelined", self.unpipelined), (REPAIRED, self.fences_added), (KEPT, self.ends_together))
        return tuple(word for word, holds in words if holds)


@dataclass(frozen=True, slots=True)
class _Code:
    """TileLang's code of a kernel, with the added fences."""

    device: IRModule
    host: IRModule
    source: str
    fences_added: int
    ends_together: bool


def pass_configs_of(function: tirx.PrimFunc, variant: CandidateKind) -> dict[str, Any]:
    """What TileLang's passes get for a build: the author's settings that it follows, then the variant's own."""
    followed = settings_of(function).followed(default=variant is CandidateKind.DEFAULT)
    return {**followed.for_compiler, **PASS_CONFIGS[variant]}


def read_ir(text: str) -> tirx.PrimFunc:
    """The function in ``tvm.ir.save_json`` text; DocumentError ``ir-invalid`` for anything else."""
    try:
        function = ir.load_json(text)
        if isinstance(function, tirx.PrimFunc):
            return with_aligned_bulk_copies(own_placeholders(function))
    except Exception as error:
        raise DocumentError(f"not TileLang IR: {str(error)[-300:]}", code="ir-invalid", place="/ir") from error
    raise DocumentError("the IR is not a function", code="ir-invalid", place="/ir")


def lower(
    function: tirx.PrimFunc,
    arch: str,
    variant: CandidateKind,
    configs: Mapping[str, Any] | None = None,
    *,
    plain_reference: bool = False,
) -> Lowered:
    """Lowers one kernel for one architecture; ``configs`` are pass configurations in place of the variant's own and
    the author's.

    ``plain_reference``: the reference, the unspecialised build, has plain loops: pipelined ones would compute something else.

    Any error is a refusal by TileLang: what reading can see, it has refused (:mod:`warpwright.lowering.frontend.launch`).
    """
    target = Target({"kind": "cuda", "arch": arch})
    config = dict(pass_configs_of(function, variant) if configs is None else configs)
    function = guard_empty_loops(with_settings(function, AuthorSettings()))
    plain = False
    if variant is CandidateKind.UNSPECIALIZED:
        waiting = with_waiting_products(function)
        plain = plain_reference or not waiting.same_as(function)
        # TileLang's pipelining moves statements to other iterations; the barriers count those of the source.
        function = unpipelined(waiting) if plain else function
    try:
        code = _lowered(function, target, config)
    except Exception:
        # The reference only has to be correct: TileLang's pipelining refuses some correct loops (a tile filled twice).
        without = unpipelined(function)
        if variant is not CandidateKind.UNSPECIALIZED or without.same_as(function):
            raise
        function, plain = without, True
        code = _lowered(function, target, config)
    functions = list(code.device.functions.values())
    if len(functions) != 1:
        raise ValueError(f"one launch became {len(functions)} device functions")
    attributes = functions[0].attrs
    wrapper = TLWrapper(target)
    wrapper.assign_optimized_module(IRModule({_symbol(function): function}))
    wrapper.assign_pass_configs(config)
    wrapper.assign_host_module(code.host)
    wrapper.assign_device_module(code.device)
    extent = {str(axis): int(size) for axis, size in attributes["thread_extent"].items()}
    x, y, z = (extent.get(f"blockIdx.{axis}", 1) for axis in "xyz")
    return Lowered(
        kernel=str(attributes["global_symbol"]),
        source=code.source,
        launcher=str(wrapper.wrap(code.source)),
        grid=(x, y, z),
        block_threads=extent.get("threadIdx.x", 1) * extent.get("threadIdx.y", 1) * extent.get("threadIdx.z", 1),
        dynamic_shared_bytes=int(attributes["dyn_shared_memory_buf"]) if "dyn_shared_memory_buf" in attributes else 0,
        unpipelined=plain,
        fences_added=code.fences_added,
        ends_together=code.ends_together,
    )


def _lowered(function: tirx.PrimFunc, target: Target, config: dict[str, Any]) -> _Code:
    """The steps of ``tilelang.lower`` (0.1.15 wheel, ``engine/lower.py:146-186``) with one extra step before the
    code is written.
    """
    with transform.PassContext(opt_level=3, config=config), target:
        context = create_backend_context(target, None, "auto")
        host, device, *_ = lower_to_host_device_ir(function, context)
        fenced = with_proxy_fences(device)
        kept = with_tensor_memory_kept(fenced.module)
        source = device_codegen_without_compile(kept.module, context).inspect_source()
    return _Code(kept.module, host, str(source), fenced.added, bool(kept.added))


def arguments(function: tirx.PrimFunc) -> tuple[Argument, ...]:
    """The tensor parameters in call order, each with the body's access to it.

    Raises:
        NotBuildable: as :func:`warpwright.lowering.frontend.launch.launch_tensors`.
    """
    masks = _access_masks(function)
    return tuple(
        Argument(tensor.name, tensor.dtype, tensor.shape, ACCESS[masks.get(tensor.name, 0)])
        for tensor in launch_tensors(function)
    )


def _access_masks(function: tirx.PrimFunc) -> dict[str, int]:
    """Access mask by global buffer name: regions carry theirs; plain loads and stores are read directly.

    A buffer whose address is taken (atomics, hand-written copies) counts as read and written.
    """
    masks: dict[str, int] = {}
    named: list[Any] = []

    def add(name: str, mask: int) -> None:
        masks[name] = masks.get(name, 0) | mask

    def regions(node: Any) -> None:
        if isinstance(node, tirx.Call) and getattr(node.op, "name", "") in ("tl.region", "tirx.address_of"):
            mask = int(node.args[1]) if node.op.name == "tl.region" else READS | WRITES
            if isinstance(node.args[0], tirx.BufferLoad):
                named.append(node.args[0])
                add(str(node.args[0].buffer.name), mask)

    def accesses(node: Any) -> None:
        if isinstance(node, tirx.BufferStore):
            add(str(node.buffer.name), WRITES)
        elif isinstance(node, tirx.BufferLoad) and not any(node.same_as(other) for other in named):
            add(str(node.buffer.name), READS)

    tirx.stmt_functor.post_order_visit(function.body, regions)
    tirx.stmt_functor.post_order_visit(function.body, accesses)
    return masks


def _symbol(function: tirx.PrimFunc) -> str:
    return str(function.attrs["global_symbol"]) if function.attrs and "global_symbol" in function.attrs else "main"
