"""A constructive search for a modulo schedule of one interval: fast where it succeeds, silent where it does not."""

from warpwright.solver.modulo.construct.search import construct

__all__ = ["construct"]
