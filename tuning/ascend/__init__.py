"""Ascend planning: Warpwright's solver answers TileLang's scheduler calls, one kernel at a time. Runs in child processes.

Here and not in ``lowering``, because lowering knows the domain only: the hook, the watched lowering and the annotations are
there, the solver is here, and the tasks join them (docs/decisions/0052).
"""
