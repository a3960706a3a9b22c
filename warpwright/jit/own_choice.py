"""The compiler's own choices as a user's program may run them: within the register pool, and with the fences that they lack.

Imports TileLang, because the user's own process has it already; everywhere else compilers run in child processes. Builds of ours
hold every choice to the same rules (``compile.cuda``), but here TileLang compiles by itself.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm import ir as tvm_ir

from warpwright.lowering.compile.empty_loops import guard_empty_loops
from warpwright.lowering.compile.launchable import over_resource
from warpwright.lowering.compile.lower import PASS_CONFIGS, Lowered, lower, read_ir
from warpwright.lowering.compile.readback import read_back
from warpwright.lowering.compile.register_pool import over_pool
from warpwright.lowering.compile.result import Launch
from warpwright.lowering.frontend.author_settings import DEFAULT_BUILD, setting_name
from warpwright.lowering.frontend.walk import walk_kernel
from warpwright.lowering.materialize.fenced_choice import FencedChoice, fenced_choice
from warpwright.solver.domain import BASELINES, CandidateKind, HardwareProfile, NotApplicable, WarpwrightError

__all__ = ["OwnChoice", "fallback", "kept", "own_choice"]

log = logging.getLogger("warpwright.tuned")

Configs = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class OwnChoice:
    """What TileLang shall compile: a function and its pass configurations; ``changed`` if that is not the user's own text."""

    function: Any
    configs: Configs
    changed: bool
    kind: CandidateKind

    @property
    def default(self) -> bool:
        """Whether it is the author's own build, which follows all settings of its author."""
        return self.kind is CandidateKind.DEFAULT


def own_choice(ir: str, kind: CandidateKind, profile: HardwareProfile, given: Configs) -> OwnChoice:
    """One of the compiler's own choices; ``given`` are the user's pass configurations.

    Raises:
        WarpwrightError: ``choice-refused`` if the device cannot run it, or it would hang; ``choice-unfenced`` if its code lacks
            fences that its text cannot have.
    """
    configs = {**kept(given, default=kind is CandidateKind.DEFAULT), **PASS_CONFIGS[kind]}
    made = _lowered(ir, kind, profile, configs)
    found = read_back(made.lowered.source)
    launch = _launch(made.lowered, found.min_blocks or 0)
    refused = over_resource(launch, 0, profile) or over_pool(found, launch, None, None, profile)
    if refused is not None:
        raise WarpwrightError(f"{kind.value}: {refused.message}", code="choice-refused")
    if made.missing:
        message = f"{kind.value}: {made.missing} fences between proxies have no place in the kernel's text"
        raise WarpwrightError(message, code="choice-unfenced")
    changed = kind is not CandidateKind.DEFAULT or not tvm_ir.structural_equal(made.function, tvm_ir.load_json(ir))
    return OwnChoice(made.function, PASS_CONFIGS[kind], changed, kind)


def kept(given: Configs, *, default: bool) -> dict[str, Any]:
    """The user's pass configurations that a choice follows: a schedule decides itself what some of them say."""
    plain = {setting_name(key): value for key, value in given.items()}
    return plain if default else {key: value for key, value in plain.items() if key not in DEFAULT_BUILD}


def fallback(ir: str, name: str, profile: HardwareProfile, given: Configs) -> OwnChoice | None:
    """What runs where no schedule is known: the compiler's default, or the first of its choices that a rule does not refuse.

    None, for TileLang's default as it is, if that is right, if nothing can be said about the kernel, or if nothing is left.
    """
    key = (ir, profile.digest, repr(sorted(given.items())))
    if key not in _KNOWN:
        _KNOWN[key] = _fallback(ir, name, profile, given)
    return _KNOWN[key]


_KNOWN: dict[tuple[str, str, str], OwnChoice | None] = {}
"""A lowering takes as long as TileLang's own, and kernels of one text are asked for again and again."""


def _fallback(ir: str, name: str, profile: HardwareProfile, given: Configs) -> OwnChoice | None:
    refusals: list[str] = []
    for kind in BASELINES:
        try:
            choice = own_choice(ir, kind, profile, given)
        except NotApplicable as error:
            log.info("%s: the compiler's default is not checked: %s", name, error)
            return None
        except WarpwrightError as error:
            refusals.append(error.message)
            continue
        if refusals:
            log.warning("%s: %s; the compiler's %s choice runs", name, "; ".join(refusals), kind.value)
        return choice if choice.changed else None
    log.warning("%s: %s; the compiler's default runs all the same", name, "; ".join(refusals))
    return None


def _lowered(ir: str, kind: CandidateKind, profile: HardwareProfile, configs: Configs) -> FencedChoice:
    function = guard_empty_loops(read_ir(ir))
    try:
        kernel = walk_kernel(function, fences=True)
    except NotApplicable:
        lowered = lower(function, profile.arch, kind, configs)
        return FencedChoice(function, lowered, missing=lowered.fences_added)
    return fenced_choice(kernel, profile.arch, kind, configs)


def _launch(lowered: Lowered, min_blocks: int) -> Launch:
    return Launch(
        lowered.kernel,
        lowered.grid,
        lowered.block_threads,
        min_blocks,
        lowered.dynamic_shared_bytes,
        static_shared_bytes=0,
    )
