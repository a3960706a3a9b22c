"""The only module that parses the output of nvcc and ptxas. All others use typed values.

Forms seen with CUDA 13.0 (ptxas 13.0.88)::

    ptxas info    : Used 168 registers, used 4 barriers, 512 bytes cumulative stack size, 1024 bytes smem
        512 bytes stack frame, 768 bytes spill stores, 656 bytes spill loads
    ptxas info    : (C7507) Potential Performance Loss: 'setmaxnreg' ignored to maintain minimum register requirements.
    ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are serialized due to ...
    ptxas fatal   : (C7602) Insufficient registers (128) to compile instruction at line 1119 in function ...
                    Try to compile with register target of 154 or higher.
"""

import re

from warpwright.lowering.compile.result import PtxasMessage, PtxasReport
from warpwright.lowering.outcome import StepOutcome
from warpwright.solver.domain import Outcome

__all__ = ["DETAILS", "architecture", "details", "failure", "parse"]

DETAILS = {
    "C7504": "register_request_ignored",
    "C7507": "register_request_ignored",
    "C7508": "register_request_ignored",
    "C7509": "wgmma_serialized",
    "C7510": "wgmma_serialized",
    "C7511": "wgmma_serialized",
    "C7512": "wgmma_serialized",
    "C7600": "register_allocation_failed",
    "C7602": "instruction_needs_registers",
}
"""Numbered messages and what they mean for a schedule."""
TEXTS = (
    (re.compile(r"setmaxnreg\W.*\bignored\b", re.IGNORECASE), "register_request_ignored"),
    (re.compile(r"wgmma\b.*\bserialized\b", re.IGNORECASE), "wgmma_serialized"),
)
"""The same by text, because other versions of the assembler may number them differently."""

_MESSAGE = re.compile(r"\((C\d{4})\)\s*(.+)")
_USED = re.compile(r"Used (\d+) registers(?:, used (\d+) barriers)?(.*)")
_SPILLS = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
_SMEM = re.compile(r"(\d+) bytes smem")
_INSUFFICIENT = re.compile(r"Insufficient registers \((\d+)\).*?register target of (\d+)", re.DOTALL)
_SHARED = re.compile(r"uses too much shared data \((0x[0-9a-f]+|\d+) bytes, (0x[0-9a-f]+|\d+) max\)")
_ARCHITECTURE = re.compile(r"Compiling entry function '[^']*' for '(\w+)'")
_ERROR = re.compile(r"(?:error|fatal)\s*:\s*(.+)", re.IGNORECASE)


def parse(log: str) -> PtxasReport | None:
    """The report of the kernel in a log of ``-Xptxas -v``; the largest numbers if several functions are listed.

    None if the assembler printed no report, because it failed or did not run.
    """
    used = [match for line in log.splitlines() if (match := _USED.search(line))]
    if not used:
        return None
    spills = [tuple(map(int, match.groups())) for match in _SPILLS.finditer(log)] or [(0, 0, 0)]
    shared = [int(found.group(1)) for match in used if (found := _SMEM.search(match.group(3)))]
    return PtxasReport(
        registers=max(int(match.group(1)) for match in used),
        spill_store_bytes=max(spill[1] for spill in spills),
        spill_load_bytes=max(spill[2] for spill in spills),
        stack_bytes=max(spill[0] for spill in spills),
        barriers=max(int(match.group(2) or 0) for match in used),
        static_shared_bytes=max(shared, default=0),
        messages=tuple(_messages(log)),
    )


def architecture(log: str) -> str | None:
    """The architecture that the assembler says it made code for."""
    found = _ARCHITECTURE.search(log)
    return found.group(1) if found else None


def details(report: PtxasReport) -> tuple[str, ...]:
    """Stable words for the assembler's warnings, spills included."""
    words = [word for message in report.messages if (word := _word(message))]
    if report.spill_store_bytes or report.spill_load_bytes:
        words.append("spills")
    return tuple(dict.fromkeys(words))


def failure(log: str) -> StepOutcome:
    """The typed outcome of a compile that ended with an error."""
    words = tuple(dict.fromkeys(word for message in _messages(log) if (word := _word(message))))
    if found := _INSUFFICIENT.search(log):
        have, need = int(found.group(1)), int(found.group(2))
        message = f"one instruction needs {need} registers per thread at launch, {have} are available"
        return StepOutcome(Outcome.OVER_RESOURCE, message, words, "launch registers per thread", need, have)
    if found := _SHARED.search(log):
        need, have = int(found.group(1), 0), int(found.group(2), 0)
        message = f"the kernel holds {need} bytes of static shared memory, {have} are allowed"
        return StepOutcome(Outcome.OVER_RESOURCE, message, words, "static shared bytes", need, have)
    errors = [match.group(1).strip() for line in log.splitlines() if (match := _ERROR.search(line))]
    return StepOutcome(Outcome.COMPILE_FAILED, "; ".join(errors[:5])[:2000] or log[-500:], words)


def _word(message: PtxasMessage) -> str:
    """What a message means for a schedule; empty if it does not concern one."""
    known = DETAILS.get(message.code, "")
    return known or next((word for text, word in TEXTS if text.search(message.text)), "")


def _messages(log: str) -> list[PtxasMessage]:
    return [PtxasMessage(match.group(1), match.group(2).strip()) for match in _MESSAGE.finditer(log)]
