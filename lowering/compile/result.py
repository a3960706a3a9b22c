"""CompiledKernel: everything known about one build, as a JSON document that is independent of the toolchain."""

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import TypeAdapter

from warpwright.lowering.compile.sass import SassReport
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import CandidateKind

__all__ = [
    "Argument",
    "CompiledKernel",
    "Launch",
    "NotHonoured",
    "PtxasMessage",
    "PtxasReport",
    "from_document",
    "to_document",
]

SCHEMA = "warpwright.compiled-kernel/1"


@dataclass(frozen=True, slots=True)
class Argument:
    """One tensor parameter in call order. ``access`` says whether the kernel reads or writes it."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    access: Literal["in", "out", "inout"]


@dataclass(frozen=True, slots=True)
class Launch:
    """Launch numbers of the one kernel in the module. ``static_shared_bytes`` is ptxas's count, barriers included."""

    kernel: str
    grid: tuple[int, int, int]
    block_threads: int
    min_blocks_per_sm: int
    dynamic_shared_bytes: int
    static_shared_bytes: int


@dataclass(frozen=True, slots=True)
class PtxasMessage:
    """One numbered message of the assembler, such as ``C7507``, with the text that it printed."""

    code: str
    text: str


@dataclass(frozen=True, slots=True)
class PtxasReport:
    """The report of ``ptxas -v`` on the kernel. ``registers`` is the launch count per thread, not a role's own budget."""

    registers: int
    spill_store_bytes: int
    spill_load_bytes: int
    stack_bytes: int
    barriers: int
    static_shared_bytes: int
    messages: tuple[PtxasMessage, ...] = ()


@dataclass(frozen=True, slots=True)
class NotHonoured:
    """One number of the plan that the generated code does not have."""

    what: str
    planned: str
    found: str


@dataclass(frozen=True, slots=True)
class CompiledKernel:
    """One build: source always, ``binary`` (path of the driver-only shared object) if there was a device compiler.

    ``outcome.kind`` is ``compiled``, or says why this build must not be measured; ``not_honoured`` then lists differences.
    ``seconds`` holds the time of every step. ``binary_digest`` is checked whenever the file is used.
    """

    variant: CandidateKind
    """How TileLang was told to specialise."""
    arch: str
    outcome: StepOutcome
    source: str = ""
    source_digest: str = ""
    launcher_digest: str = ""
    binary: str | None = None
    binary_digest: str = ""
    binary_bytes: int = 0
    launch: Launch | None = None
    ptxas: PtxasReport | None = None
    sass: SassReport | None = None
    """The content of the machine code, None if no disassembler was available."""
    warpgroup_registers: tuple[int, ...] = ()
    """Registers per thread of each warpgroup after reallocation, as the code requests them; empty if it requests none."""
    arguments: tuple[Argument, ...] = ()
    not_honoured: tuple[NotHonoured, ...] = ()
    toolchain: dict[str, str] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    reused: bool = False
    options: tuple[str, ...] = ()
    """Names of the build options (``warpwright.lowering.compile.options``); a result with options is another result."""
    settings_ignored: tuple[str, ...] = ()
    """The author's settings that this build does not follow (``warpwright.lowering.frontend.author_settings``)."""
    register_cap: int | None = None
    """Registers per thread that the build was limited to, after the assembler could not allocate at the kernel's own limit."""
    first_failure: str = ""
    """The message of the first build, if this is the second one."""
    total_cycles: int | None = None
    """Ascend: cycles of the whole kernel under the schedule that was lowered, TileLang's own included; no measurement."""
    fences_added: int = 0
    """Number of fences between proxies that TileLang's code lacked and the build added: TileLang's own source is not
    this kernel.
    """


_ADAPTER: TypeAdapter[CompiledKernel] = TypeAdapter(CompiledKernel)


def to_document(kernel: CompiledKernel) -> dict[str, Any]:
    """The kernel as JSON-ready values, ``schema`` first."""
    return {"schema": SCHEMA, **_ADAPTER.dump_python(kernel, mode="json")}


def from_document(document: dict[str, Any]) -> CompiledKernel:
    """A kernel from :func:`to_document`; ``ValueError`` for another schema or a wrong shape."""
    if document.get("schema") != SCHEMA:
        raise ValueError(f"expected schema {SCHEMA!r}, found {document.get('schema')!r}")
    return _ADAPTER.validate_python({key: value for key, value in document.items() if key != "schema"})
