"""The author's settings on a function, as TVM objects: read, written, replaced. Runs in child processes only."""

from collections.abc import Mapping, Sequence
from typing import Any

from warpwright.lowering.frontend.author_settings import (
    FLAGS,
    PASS_CONFIGS,
    AuthorSettings,
    author_settings,
    setting_name,
)

__all__ = ["settings_of", "with_author_settings", "with_settings"]


def settings_of(function: Any) -> AuthorSettings:
    """The settings that a function brings along."""
    attributes = function.attrs
    if attributes is None:
        return AuthorSettings()
    configs = dict(attributes[PASS_CONFIGS]) if PASS_CONFIGS in attributes else {}
    flags = list(attributes[FLAGS]) if FLAGS in attributes else []
    return author_settings({str(key): _plain(value) for key, value in configs.items()}, [str(flag) for flag in flags])


def with_settings(function: Any, settings: AuthorSettings) -> Any:
    """The function with these settings in place of its own."""
    for key, value in ((PASS_CONFIGS, dict(settings.configs)), (FLAGS, list(settings.flags))):
        if value:
            function = function.with_attr(key, value)
        elif function.attrs is not None and key in function.attrs:
            function = function.without_attr(key)
    return function


def with_author_settings(
    function: Any, configs: Mapping[Any, Any] | None = None, flags: Sequence[str] | str | None = None
) -> Any:
    """The function with its own settings and those of its ``@tilelang.jit``, which win (0.1.15 wheel, ``jit/__init__.py``)."""
    own = settings_of(function)
    given = [flags] if isinstance(flags, str) else list(flags or ())
    merged = {**own.configs, **{setting_name(key): value for key, value in (configs or {}).items()}}
    return with_settings(function, author_settings(merged, [*own.flags, *given]))


def _plain(value: Any) -> Any:
    """A value without TVM's wrapping of numbers and strings."""
    value = getattr(value, "value", value)
    return str(value) if isinstance(value, str) else value
