"""TileLang's own JIT object, with another way to obtain its function.

Imports TileLang, because the user's own process has it already; everywhere else compilers run in child processes.
Argument binding, caches, both modes (a kernel object, or immediate execution), output indices, flags and debug files stay
TileLang's own; only the choice of the variant and of the function that TileLang compiles is replaced.
"""

import logging
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from typing import Any, Literal

from tilelang.jit import JITImpl
from tilelang.utils.device import get_available_cpu_count
from tvm import ir as tvm_ir

from warpwright.jit.building import built_from
from warpwright.jit.own_choice import OwnChoice, fallback, kept
from warpwright.jit.places import LookupPlace
from warpwright.jit.sources import KnownChoice
from warpwright.lowering.frontend.settings_attributes import settings_of, with_author_settings, with_settings
from warpwright.solver.domain import HardwareProfile

__all__ = ["TunedKernel", "When"]

log = logging.getLogger("warpwright.tuned")

When = Literal["never", "background", "first"]


class TunedKernel(JITImpl):  # type: ignore[misc]  # TileLang is imported untyped
    """A copy of a ``JITImpl`` that compiles the best known schedule, or TileLang's default if there is none."""

    def __init__(
        self,
        plain: Any,
        profile: HardwareProfile,
        places: Sequence[LookupPlace],
        tune: When,
        variants: Callable[[], Sequence[Mapping[str, Any]]],
        options: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(**{entry.name: getattr(plain, entry.name) for entry in fields(plain)})
        self._author = plain.pass_configs
        if options:  # of build options: they belong to the question, not to the kernel
            self.pass_configs = {**(plain.pass_configs or {}), **options}
        self.profile, self.places, self.tune = profile, tuple(places), tune
        self._variants = variants
        self._chosen: dict[Any, Mapping[str, Any]] = {}
        self._decided: dict[str, KnownChoice | None] = {}

    @property
    def variants(self) -> list[dict[str, Any]]:
        """The parameter sets of the kernel family, the default first; empty for a single kernel."""
        return [dict(entry) for entry in self._variants()]

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        """As TileLang's: the kernel object, or in eager mode its result; parameters of the kernel family may be left out."""
        return super().__call__(*arguments, **self._complete(arguments, keywords))

    def compile(self, *arguments: Any, **keywords: Any) -> Any:
        """The kernel object for these parameters."""
        named = self._complete(arguments, keywords)
        ready = self._ready(arguments, named)
        if ready is not None:
            try:
                return ready.compile()
            except Exception as error:  # noqa: BLE001 - the promise: whatever fails in Warpwright, the user's kernel runs
                self._warn(error)
        return super().compile(*arguments, **named)

    def par_compile(
        self, configs: Iterable[Any], num_workers: int | None = None, ignore_error: bool = False
    ) -> list[Any]:
        """As TileLang's: a kernel object for each parameter set (dictionaries, or tuples of positional arguments)."""
        calls: list[tuple[tuple[Any, ...], dict[str, Any]]] = []
        for config in configs:
            if not isinstance(config, tuple | dict):
                raise ValueError(f"Invalid config type: {type(config)}, expected tuple or dict.")
            given, named = (config, {}) if isinstance(config, tuple) else ((), config)
            calls.append((given, dict(self._complete(given, named))))
        ready = [
            self._ready(given, named) for given, named in calls
        ]  # TileLang also elaborates them one after the other

        def scheduled(one: Any) -> Any:
            try:
                return one.compile() if one is not None else None
            except Exception as error:  # noqa: BLE001 - as in compile
                self._warn(error)
                return None

        workers = num_workers or max(1, min(len(calls), get_available_cpu_count()))
        with ThreadPoolExecutor(workers, "warpwright-par-comp") as executor:
            built = list(executor.map(scheduled, ready))
        missing = [number for number, kernel in enumerate(built) if kernel is None]
        plain = _Plain(self, [calls[number] for number in missing])
        defaults = plain.par_compile([(number,) for number in range(len(missing))], num_workers, ignore_error)
        for number, kernel in zip(missing, defaults, strict=True):
            built[number] = kernel
        return built

    def _complete(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> Mapping[str, Any]:
        """The keywords, with the best known variant's parameters if those of the kernel family were left out."""
        variants = self._variants()
        if not variants:
            return keywords
        default = {**variants[0], **keywords}
        try:
            bound = self.signature.bind_partial(*arguments, **keywords).arguments
            if any(name in bound for entry in variants for name in entry):
                return keywords
            self.signature.bind(*arguments, **default)
        except TypeError:  # the wrong argument is not a parameter of the kernel family: TileLang's own message names it
            return default
        self.initialize_jit_mode(*arguments, **default)
        key = self.func.parse_args(*arguments, **default)[0]
        if key not in self._chosen:
            texts = [self._text(self.get_tir(*arguments, **{**entry, **keywords})) for entry in variants]
            choice = self._decide(texts)
            self._chosen[key] = variants[choice.variant if choice is not None else 0]
        return {**self._chosen[key], **keywords}

    def _ready(self, arguments: tuple[Any, ...], keywords: Mapping[str, Any]) -> "_Ready | None":
        """What TileLang shall compile instead; None if its default is the choice, or nothing is known, and nothing is wrong
        with the default.
        """
        function = self.get_tir(*arguments, **keywords)  # the user's own code: its exceptions go to the user
        given = self.pass_configs or {}
        try:
            text = self._text(function)
            choice = self._decided[text] if text in self._decided else self._decide([text])
            if choice is not None:
                log.info("%s: %s from %s", self.name, choice.kind, choice.origin)
                built = built_from(text, choice, self.profile, given)
                return _Ready(self, built, function) if built is not None else None
        except Exception as error:  # noqa: BLE001 - the promise, as above
            log.warning("%s: %s: %s; the known choice is not used", self.name, type(error).__name__, error)
        try:
            built = fallback(self._text(function), self.name, self.profile, given)
        except Exception as error:  # noqa: BLE001 - the promise, as above
            self._warn(error)
            return None
        return _Ready(self, built, function) if built is not None else None

    def _text(self, function: Any) -> str:
        """The kernel as it is asked for: with the settings of its author, as a kernel file is read."""
        return str(tvm_ir.save_json(with_author_settings(function, self._author, self.compile_flags)))

    def _decide(self, variants: Sequence[str]) -> KnownChoice | None:
        """The best choice that any place knows for any of the variants, remembered by IR."""
        choice = self._find(variants)
        if choice is None and self.tune == "first" and self.places:
            self.places[-1].improve(self.name, variants, self.profile)
            choice = self._find(variants)
        if choice is None:
            asked = ", ".join(place.name for place in self.places)
            log.info(
                "%s: no schedule is known for %s in %s; the compiler's default runs ('warpwright tune' may find one)",
                self.name,
                self.profile.name,
                asked,
            )
            if self.tune == "background" and self.places:
                work = (self.name, variants, self.profile)
                threading.Thread(target=self.places[-1].improve, args=work, daemon=True).start()
        self._decided[variants[choice.variant if choice is not None else 0]] = choice
        return choice

    def _find(self, variants: Sequence[str]) -> KnownChoice | None:
        found = (place.find(self.name, variants, self.profile) for place in self.places)
        return next((choice for choice in found if choice is not None), None)

    @property
    def name(self) -> str:
        """The function's name, with its class."""
        original = getattr(self.func, "orig_func", self.func)
        return str(getattr(original, "__qualname__", getattr(original, "__name__", "kernel")))

    def _warn(self, error: Exception) -> None:
        log.warning("%s: %s: %s; the compiler's default runs", self.name, type(error).__name__, error)


class _Ready(JITImpl):  # type: ignore[misc]  # as above
    """The same settings, with the function already made."""

    def __init__(self, kernel: TunedKernel, choice: OwnChoice, own: Any) -> None:
        super().__init__(**{entry.name: getattr(kernel, entry.name) for entry in fields(kernel)})
        self.pass_configs = {**kept(kernel.pass_configs or {}, default=choice.default), **choice.configs} or None
        # TileLang adds this object's own settings again; the function keeps those of its body.
        self._function = with_settings(choice.function, settings_of(own).followed(default=choice.default))

    def get_tir(self, *arguments: Any, **keywords: Any) -> Any:
        """The function."""
        return self._function


class _Plain(JITImpl):  # type: ignore[misc]  # as above
    """TileLang's own parallel compilation of numbered calls, so that errors and progress are TileLang's own."""

    def __init__(self, kernel: TunedKernel, calls: Sequence[tuple[tuple[Any, ...], dict[str, Any]]]) -> None:
        super().__init__(**{entry.name: getattr(kernel, entry.name) for entry in fields(kernel)})
        self._kernel, self._calls = kernel, calls

    def get_tir(self, *arguments: Any, **keywords: Any) -> Any:
        """The function of the call with this number."""
        given, named = self._calls[arguments[0]]
        return self._kernel.get_tir(*given, **named)
