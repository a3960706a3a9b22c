"""Identity of a compiler package by its content: a version is only a name, the bytes are the compiler."""

import hashlib
import importlib.metadata
import importlib.util
from functools import lru_cache
from pathlib import Path

__all__ = ["content_digest", "package_identity"]

DIGITS = 12
PARTS = {
    "tilelang": ("lib/*.so", "src/tl_templates/**/*.h", "src/tl_templates/**/*.hpp", "src/tl_templates/**/*.inl"),
    "apache-tvm-ffi": ("lib/libtvm_ffi.so",),
}
"""Files that determine generated code: the compiler's libraries, and the device headers that every kernel includes."""
MODULES = {"apache-tvm-ffi": "tvm_ffi"}


@lru_cache(maxsize=8)
def package_identity(name: str) -> str:
    """A package's version with the digest of its content, such as ``0.1.15+3f2a90b1c4d5``; ``unknown`` if it is missing.

    A source tree on the path has no version: it is ``source`` with its digest, so that two states of it differ.
    """
    module = MODULES.get(name, name.replace("-", "_"))
    spec = importlib.util.find_spec(module)
    if spec is None or not spec.submodule_search_locations:
        return "unknown"
    try:
        version = importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        version = "source"
    root = Path(next(iter(spec.submodule_search_locations)))
    return f"{version}+{content_digest(root, PARTS.get(name, ('**/*.py', '**/*.so')))}"


def content_digest(root: Path, patterns: tuple[str, ...]) -> str:
    """Twelve hex digits over names and bytes of the files below ``root`` that match a pattern."""
    found = sorted({path for pattern in patterns for path in root.glob(pattern) if path.is_file()})
    whole = hashlib.blake2b()
    for path in found:
        with path.open("rb") as stream:
            part = hashlib.file_digest(stream, "blake2b")
        whole.update(str(path.relative_to(root)).encode() + b"\0" + part.digest())
    return whole.hexdigest()[:DIGITS]
