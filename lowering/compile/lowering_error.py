"""Why TileLang refused a kernel, in one line: its reason, and the place that it names. Pure Python.

TVM puts a C++ stack before its message, and TileLang puts an excerpt of the user's file behind it (``src/span_utils.h``)::

    T.wgmma_gemm() requires Hopper WGMMA lowering, but constraints were not satisfied. ...
      --> /home/user/kernel.py:7:1
        |
      7 |             As = T.alloc_shared((BM, BK), T.bfloat16)
        |             ^
"""

import re
import traceback
from pathlib import PurePath

__all__ = ["reason_of"]

LIMIT = 1500
_ARROW = re.compile(r"^-->\s*(.*?):(\d+)(?::\d+)?$")
_EXCERPT = re.compile(r"^(?:\d+\s*)?\|(.*)$")
_CHECKS = ("Check failed", "ws_schedule")
_PACKAGE = "tilelang"


def reason_of(error: BaseException) -> str:
    """The error's class, its reason, and where: the line of the kernel, or else the place in TileLang that raised it."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    words = [line for line in lines if not _ARROW.match(line) and not _EXCERPT.match(line)]
    checks = [line for line in words if any(mark in line for mark in _CHECKS)]
    reason = (checks or words or ["no message"])[-1][:LIMIT]
    place = _in_the_kernel(lines) or _in_tilelang(error)
    return f"{type(error).__name__}: {reason}" + (f" (at {place})" if place else "")


def _in_the_kernel(lines: list[str]) -> str:
    """``kernel.py:7: As = T.alloc_shared(...)``; without the folder, which is one of another machine as often as not."""
    arrow = next((match for line in lines if (match := _ARROW.match(line))), None)
    if arrow is None:
        return ""
    code = [text for line in lines if (match := _EXCERPT.match(line)) and (text := match.group(1).strip(" ^"))]
    where = f"{PurePath(arrow.group(1)).name}:{arrow.group(2)}"
    return f"{where}: {code[0]}" if code else where


def _in_tilelang(error: BaseException) -> str:
    """``tilelang/cuda/op/gemm/gemm_tcgen05.py:197``: the last frame in the package."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if _PACKAGE in PurePath(frame.filename).parts
    ]
    if not frames:
        return ""
    parts = PurePath(frames[-1].filename).parts
    start = len(parts) - 1 - parts[::-1].index(_PACKAGE)
    return f"{'/'.join(parts[start:])}:{frames[-1].lineno}"
