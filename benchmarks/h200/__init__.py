"""Tunes the example families on this machine's GPU and measures them beside TileLang's own choices, cuBLAS and cuDNN.

``python3 -m benchmarks.h200 --out DIR`` writes ``DIR/h200.json`` (after every step) and ``DIR/h200.md``.
``--quick`` does one GEMM with few candidates; ``--device simulated`` runs the same code without a GPU and without nvcc, to
find mistakes cheaply.
"""
