"""Warp schedules for NVIDIA GPUs, from a closed problem to a verified schedule with its certificate.

In the order in which a solve uses them:

``problem``            the kernel, the device's limits and the user's pins, closed and serialisable
``layout/``            what follows before any search: roles, loads that stay, channels between roles, orders, fences
``encoding``           the variables that the families write their rules over
``families/``          the rules, one module each: ``build``, ``check``, ``explain``
``bounds``             lower bounds of the interval
``objective``          which of two schedules is better
``fallback_schedules`` simple schedules without a search, to cross-check "infeasible"
``solve``              the search; ``decode`` reads its values, ``conflicts`` explains why there is no schedule
``schedule_reader``    a finished schedule read with its kernel; ``registers`` and ``timing`` follow from it
``verify``             every rule on a finished schedule, without an engine; ``certify`` states what was proven
"""
