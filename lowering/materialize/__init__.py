"""A schedule of the solver becomes part of the kernel: ids on statements, the schedule on the block, and source to paste.

All modules but this one import TileLang and run in child processes only, by the task name ``materialize.warp``.
"""
