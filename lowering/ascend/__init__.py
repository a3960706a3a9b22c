"""Ascend: TileLang's AutoSchedule answered by our solver, Ascend C out, nothing compiled and nothing measured.

``structure``, ``session``, ``lower``, ``annotations`` and ``tasks`` import TileLang and run in child processes only; ``graph``
and ``honour`` are plain Python.
"""
