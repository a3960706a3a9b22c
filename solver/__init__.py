"""The solver: pure, deterministic, free of TileLang, databases and HTTP.

Other folders import packages from here, never their inner files. Only :mod:`warpwright.solver.engines` may import Z3 or OR-Tools.
"""
