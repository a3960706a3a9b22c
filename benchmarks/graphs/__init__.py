"""Generators of modulo problems for :mod:`benchmarks.solve`: attention loops, a scaling series, other shapes."""

from benchmarks.graphs.attention import attention_cases
from benchmarks.graphs.scaling import SIZES, scaling_case
from benchmarks.graphs.shapes import shape_cases

__all__ = ["SIZES", "attention_cases", "scaling_case", "shape_cases"]
