"""Tuning without a database: IR in, ranked candidates out, every step behind the port in ``toolchain.py``.

``orchestrate.tune`` is the way in; ``warpwright.service.jobs`` persists what comes out. Nothing is imported here: a client
needs the words of a request (``request.py``) and the supervision of children, not the search.
"""
