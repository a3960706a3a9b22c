"""A constructive search for a modulo schedule of one interval: fast if it succeeds; its failure proves nothing."""

from warpwright.solver.modulo.construct.search import construct

__all__ = ["construct"]
