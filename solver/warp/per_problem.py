"""What follows from a problem alone is computed once for it, however often families, floors and checks ask."""

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import TypeVar

from warpwright.solver.warp.problem import WarpProblem

__all__ = ["once_per_problem"]

Found = TypeVar("Found")
KEPT = 64
"""Problems whose results are kept by each function."""


class _Keyed:
    """Carries a problem through the cache; all are equal, because the digest is the key."""

    def __init__(self, problem: WarpProblem) -> None:
        self.problem = problem

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed)

    def __hash__(self) -> int:
        return 0


def once_per_problem(function: Callable[[WarpProblem], Found]) -> Callable[[WarpProblem], Found]:
    """The same function, which remembers its results by the problem's digest."""

    @lru_cache(maxsize=KEPT)
    def cached(digest: str, keyed: _Keyed) -> Found:
        return function(keyed.problem)

    @wraps(function)
    def found(problem: WarpProblem) -> Found:
        return cached(problem.digest, _Keyed(problem))

    return found
