"""Shares the corpus and the warm child of the frontend's tests."""

from tests.integration.frontend.conftest import corpus_ir, pool, read, read_graph

__all__ = ["corpus_ir", "pool", "read", "read_graph"]
