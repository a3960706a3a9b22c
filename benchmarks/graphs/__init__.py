"""Generators of modulo problems for :mod:`benchmarks.solve`: attention loops and a scaling series."""

from benchmarks.graphs.attention import attention_cases
from benchmarks.graphs.scaling import SIZES, scaling_case

__all__ = ["SIZES", "attention_cases", "scaling_case"]
