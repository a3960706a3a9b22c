"""The author's own build settings: pass configurations and compiler flags that came with a kernel. Pure Python.

They travel as TileLang's own attributes of the function (0.1.15 wheel, ``eager/builder.py``, ``T.annotate_pass_configs``), part
of the kernel's identity, so the same kernel with other settings is another question. Which builds follow a setting is a closed
list. A schedule decides itself who is specialised and how data moves, so some settings hold for TileLang's default only; what
a build does not follow is named in its answer. No flag reaches a compiler that is not listed here.
"""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = [
    "DEFAULT_BUILD",
    "FLAG",
    "FLAGS",
    "PASS_CONFIGS",
    "SETTING_NAME",
    "AuthorSettings",
    "Setting",
    "author_settings",
    "not_followed",
    "setting_name",
]

PASS_CONFIGS, FLAGS = "tilelang_pass_configs", "tilelang_compile_flags"
"""Attributes of the function."""

Setting = bool | int | str

FAST_MATH = "tl.enable_fast_math"
USAGE_LEVEL = "tl.ptxas_register_usage_level"
DEVICE_FLAGS = "tl.device_compile_flags"

EVERY_BUILD: Mapping[str, type] = {
    **dict.fromkeys(["tl.config_index_bitwidth", USAGE_LEVEL], int),
    **dict.fromkeys(["tl.disable_vectorize_256", "tl.enable_fp32x2_reduction", "tl.enable_lower_ldgstg"], bool),
    **dict.fromkeys(["tl.enable_lower_ldgstg_predicated", "tl.force_let_inline", "tl.disable_loop_unswitching"], bool),
    **dict.fromkeys(["tl.loop_unswitching_allow_non_trivial_else", "tl.disable_safe_memory_legalize"], bool),
    **dict.fromkeys(["tl.if_stmt_binding_inline_replayable_binds", FAST_MATH], bool),
    "tl.layout_cost_model": str,
}
"""Settings that mean the same with and without a schedule."""

DEFAULT_BUILD: Mapping[str, type] = {
    **dict.fromkeys(["tl.disable_warp_specialized", "tl.disable_tma_lower", "tl.disable_thread_storage_sync"], bool),
    **dict.fromkeys(["tl.enable_aggressive_shared_memory_merge", "tl.disable_shared_memory_reuse"], bool),
    **dict.fromkeys(["tl.enable_async_copy", "tl.disable_wgmma", "tl.disable_shuffle_elect"], bool),
    "tl.enable_auto_warp_specialization": str,
}
"""Settings of the author's own build, TileLang's default: who is specialised, how data moves, where threads wait."""

WITHOUT_EFFECT = frozenset(
    {"tl.disable_buffer_init_check", "tl.disable_data_race_check", "tl.disable_prelower_semantic_check"}
    | {"tl.emit_line_directives", "tl.enable_reducer_plan_verbose", "tl.enable_vectorize_planner_verbose"}
    | {"tl.debug_merge_shared_memory_allocations", "tl.ast_print_enable", "tl.layout_visualization_enable"}
    | {"tl.layout_visualization_formats", "tl.disable_out_of_bound_warning", "tl.enable_dump_ir", "tl.dump_ir_path"}
    | {"tl.pass_profile", "tl.pass_profile_threshold_ms", "cuda.kernels_output_dir", "tl.enable_ptxas_verbose_output"}
)
"""Settings that print or check something and leave the kernel as it is."""

ON_BY_DEFAULT = frozenset({"tl.enable_async_copy", "tl.enable_lower_ldgstg"})
"""Boolean settings that TileLang switches on itself; of all others, False says nothing."""

_NUMERIC = re.compile(r"--?(fmad|prec-div|prec-sqrt)=(true|false)\Z")
_FTZ = re.compile(r"--?ftz=true\Z")
_FAST = re.compile(r"--?use_fast_math\Z")
_LEVEL = re.compile(r"(?:--ptxas-options=|-Xptxas[= ])(?:-v,|--verbose,)?--?register-usage-level=(\d{1,2})\Z")
_SILENT = re.compile(
    r"-O3|-W[\w=-]*|--?lineinfo|--?generate-line-info|(--ptxas-options=|-Xptxas[= ])(-v|--verbose|-O3)"
)
_TWO_WORDS = frozenset(
    {"-Xptxas", "-Xcompiler", "-Xlinker", "-I", "-D", "-U", "-L", "-l", "-include", "-gencode", "-arch"}
)
_NAME = re.compile(r"--?[A-Za-z]+(?:-[a-z]+)*")
SETTING_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]{0,79}\Z")
FLAG = re.compile(r"-[A-Za-z0-9_=,. \-]{0,100}\Z")
"""What a flag may look like in an IR document; only listed ones are passed on."""
_WORD = re.compile(r"[A-Za-z0-9_.\-]{0,64}\Z")


@dataclass(frozen=True, slots=True)
class AuthorSettings:
    """Pass configurations by key, and compiler flags as they are passed on."""

    configs: Mapping[str, Setting] = field(default_factory=dict)
    flags: tuple[str, ...] = ()

    @property
    def build_options(self) -> tuple[str, ...]:
        """The build options that these settings are (``warpwright.lowering.compile.options``)."""
        fast = self.configs.get(FAST_MATH) is True or any(map(_FAST.match, self.flags))
        ftz = any(map(_FTZ.match, self.flags))
        return (*(("fast_math",) if fast else ()), *(("flush_denormals",) if ftz else ()))

    @property
    def compiler_flags(self) -> tuple[str, ...]:
        """Flags for nvcc besides those of the build options."""
        level = self.configs.get(USAGE_LEVEL)
        levels = [f"--ptxas-options=--register-usage-level={level}"] if level is not None else []
        levels += [f"--ptxas-options=--register-usage-level={m[1]}" for m in map(_LEVEL.match, self.flags) if m]
        return (*(flag for flag in self.flags if _NUMERIC.match(flag)), *levels[-1:])

    def followed(self, *, default: bool) -> "AuthorSettings":
        """The settings that a build follows: all that are known for TileLang's default, else those that mean the same."""
        configs = {key: value for key, value in self.configs.items() if _follows(key, value, default=default)}
        return AuthorSettings(configs, tuple(flag for flag in self.flags if not _is_ignored(flag)))

    @property
    def for_compiler(self) -> dict[str, Setting]:
        """Pass configurations for TileLang's passes; what is a flag of nvcc is passed there."""
        return {key: value for key, value in self.configs.items() if key not in (FAST_MATH, USAGE_LEVEL)}

    def ignored(self, *, default: bool) -> tuple[str, ...]:
        """Names of the settings that a build does not follow."""
        kept = self.followed(default=default)
        return (*sorted(self.configs.keys() - kept.configs.keys()), *(f for f in self.flags if _is_ignored(f)))


def not_followed(ignored: Sequence[str]) -> str:
    """The settings that a build does not follow, in words."""
    return f"not followed of the author's settings: {', '.join(ignored)}"


def setting_name(key: Any) -> str:
    """A pass configuration's key as text: authors write strings or members of TileLang's ``PassConfigKey``."""
    return str(getattr(key, "value", key))


def author_settings(configs: Mapping[Any, Any] | None, flags: Sequence[str] | str | None) -> AuthorSettings:
    """Settings as an author writes them, in one form: keys as text, nothing that says nothing, flags one by one.

    A flag that no build follows keeps its name only: its value may be a path of the author's machine.
    """
    found: dict[str, Setting] = {}
    more: list[str] = []
    for key, value in (configs or {}).items():
        name, plain = setting_name(key), getattr(value, "value", value)
        if name == DEVICE_FLAGS:
            more += _split(plain)
        elif name not in WITHOUT_EFFECT and SETTING_NAME.match(name) and plain is not None:
            fits = isinstance(plain, bool | int) or (isinstance(plain, str) and _WORD.match(plain))
            if plain is not False or name in ON_BY_DEFAULT:
                found[name] = plain if fits else "set"
    more += _split(flags)
    kept = dict.fromkeys(_one(flag) for flag in _joined(more) if not _SILENT.fullmatch(flag))
    return AuthorSettings(dict(sorted(found.items())), tuple(kept))


def _follows(key: str, value: Setting, *, default: bool) -> bool:
    wanted = EVERY_BUILD.get(key) or (DEFAULT_BUILD.get(key) if default else None)
    if wanted is None or not isinstance(value, wanted) or (wanted is int and isinstance(value, bool)):
        return False
    return key != USAGE_LEVEL or 0 <= int(value) <= 10


def _is_ignored(flag: str) -> bool:
    return not any(each.match(flag) for each in (_NUMERIC, _FTZ, _FAST, _LEVEL))


def _one(flag: str) -> str:
    """A flag that is passed on, or the name of one that is not."""
    if not _is_ignored(flag):
        return flag
    name = _NAME.match(flag)
    return name[0][:2] if name and name[0][:2] in ("-I", "-D", "-U", "-L", "-l") else name[0] if name else "-"


def _split(flags: Any) -> list[str]:
    texts = [flags] if isinstance(flags, str) else list(flags) if isinstance(flags, Iterable) else []
    return [word for text in texts for word in shlex.split(str(text))]


def _joined(words: Sequence[str]) -> list[str]:
    """Options and their values: some options have theirs as the next word."""
    joined: list[str] = []
    waiting = ""
    for word in words:
        if waiting:
            joined.append(f"{waiting} {word}")
            waiting = ""
        elif word in _TWO_WORDS:
            waiting = word
        else:
            joined.append(word)
    return [*joined, waiting] if waiting else joined
