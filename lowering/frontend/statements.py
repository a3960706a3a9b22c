"""The tree of a kernel's statements: leaves that a role places, loops that it enters, and what surrounds them.

Each node keeps its statement of the source, a TVM object, so that the kernel can be rebuilt exactly.
"""

from dataclasses import dataclass
from typing import Any

__all__ = ["Guard", "Leaf", "Loop", "Metadata", "Node"]


@dataclass(slots=True)
class Leaf:
    """A statement that a role places as one step. ``wrapper`` is the ``T.ws_op`` around it, if the source had one."""

    stmt: Any
    wrapper: Any = None
    id: str = ""


@dataclass(slots=True)
class Loop:
    """A loop that roles enter: ``stmt`` is a ``For`` or a ``While``."""

    stmt: Any
    body: "list[Node]"
    wrapper: Any = None
    id: str = ""


@dataclass(slots=True)
class Guard:
    """An ``if`` without ``else`` around statements."""

    stmt: Any
    body: "list[Node]"


@dataclass(slots=True)
class Metadata:
    """An attribute statement that wraps the statements that follow it (``T.use_swizzle`` and the like)."""

    stmt: Any
    body: "list[Node]"


Node = Leaf | Loop | Guard | Metadata
