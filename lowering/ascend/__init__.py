"""Ascend: the scheduler hook, lowerings watched pass by pass, and the annotations of a kernel's block.

``structure``, ``session``, ``lower``, ``annotations`` and ``rings`` import TileLang and run in child processes only; ``layout``
and ``honour`` are plain Python. Nothing here compiles, measures or solves: ``warpwright.tuning.ascend`` supplies the answers.
"""
