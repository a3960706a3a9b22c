"""Ascend: version counts and start times of a kernel's buffers and tasks, proven; pure, no TileLang.

``solve_call`` answers one call of TileLang's scheduler hook; see :mod:`warpwright.solver.ascend.solve`.
"""
