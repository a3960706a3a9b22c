"""Runs a user's Python file under its own module name, and removes it from the process again. Runs in a child only.

A file inside a package (folders with ``__init__.py``) is imported under its full name, so that relative imports work. A child
reads one file after the other: the next file must not find modules of the one before.
"""

import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr
from pathlib import Path
from types import ModuleType
from typing import Any

from warpwright.errors import KernelFileError
from warpwright.solver.domain.extras import missing_of

__all__ = ["guarded", "user_files", "user_module"]

ALONE = "warpwright_kernel_file"
"""Module name of a file outside any package: its own name might be that of a library, such as ``gemm`` or ``torch``."""


@contextmanager
def user_module(path: Path) -> Iterator[Mapping[str, Any]]:
    """The file's module namespace, while the context is open.

    Raises:
        KernelFileError: ``kernel-file-missing``, ``kernel-file-raised``.
    """
    if not path.is_file():
        raise KernelFileError(f"file not found: {path}", code="kernel-file-missing", place=str(path))
    root, name = _home(path.resolve())
    before, modules, arguments = list(sys.path), set(sys.modules), sys.argv
    sys.argv = [str(path)]  # a file that parses its arguments at import gets none
    sys.path.insert(0, str(root))
    if name != ALONE:
        sys.path.append(str(path.resolve().parent))
    try:
        yield vars(guarded(lambda: _imported(path, name), path))
    finally:
        sys.path[:], sys.argv = before, arguments
        for each in [key for key in sys.modules if key not in modules and _is_users(sys.modules[key], root)]:
            del sys.modules[each]
        importlib.invalidate_caches()


def user_files(path: Path) -> list[str]:
    """The files of the user's module: its own, and those that it imported from the same project."""
    root = _home(path.resolve())[0]
    files = [getattr(module, "__file__", None) for module in list(sys.modules.values())]
    loaded = {str(Path(file).resolve()) for file in files if file is not None and _is_users_file(file, root)}
    return sorted(loaded | {str(path.resolve())})


def guarded(run: Callable[[], Any], path: Path) -> Any:
    """Runs the user's code; any exception becomes an error that shows the user's own lines only.

    Raises:
        KernelFileError: ``kernel-file-raised``.
        ExtraMissing: it imports TileLang, which is not installed.
    """
    said = _Tee(sys.stderr)
    try:
        with redirect_stderr(said):
            return run()
    except (KeyboardInterrupt, KernelFileError):
        raise
    except BaseException as error:  # noqa: BLE001 - the user's code may raise anything, SystemExit included
        if isinstance(error, ModuleNotFoundError) and (missing := missing_of(error.name, "it", among=["kernels"])):
            raise missing from None
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if not frame.filename.startswith("<")]
        root = _home(path.resolve())[0]
        mine = [frame for frame in frames if _is_users_file(frame.filename, root)]
        shown = traceback.StackSummary.from_list([] if isinstance(error, SyntaxError) else mine or frames[-3:]).format()
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else (mine[-1].lineno if mine else None)
        summary = "".join(traceback.format_exception_only(error)).strip()
        if isinstance(error, SystemExit) and said.last:
            summary += f" ({said.last})"
        raise KernelFileError(
            f"{path.name} raised {summary}\n{''.join(shown).rstrip()}".rstrip(),
            code="kernel-file-raised",
            place=f"{path}:{line}" if line else str(path),
        ) from None


class _Tee:
    """Standard error, with its last line kept: an ``argparse`` that ends the process says why there."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.last = ""

    def write(self, text: str) -> int:
        """Pass the text on."""
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        self.last = lines[-1][:300] if lines else self.last
        written: int = self._stream.write(text)
        return written

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _home(path: Path) -> tuple[Path, str]:
    """The folder that must be on the import path, and the name by which the file is imported from there."""
    names, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        names.append(folder.name)
        folder = folder.parent
    return (folder, ".".join(reversed(names))) if len(names) > 1 and path.stem.isidentifier() else (path.parent, ALONE)


def _imported(path: Path, name: str) -> ModuleType:
    if name != ALONE:
        return importlib.import_module(name)
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _is_users(module: ModuleType, root: Path) -> bool:
    """Whether the module came from the user's files, not from a library in a virtual environment below them."""
    file: str | None = getattr(module, "__file__", None)
    return file is not None and _is_users_file(file, root)


def _is_users_file(file: str, root: Path) -> bool:
    if not Path(file).is_absolute():  # torch.ops gives "_ops.py" as its file
        return False
    found = Path(file).resolve()
    return found.is_relative_to(root) and not {"site-packages", "dist-packages"} & set(found.parts)
