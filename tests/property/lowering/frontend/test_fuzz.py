"""Damaged documents: each ends as a graph or as a typed error, and nothing dies outside a child."""

import json
from collections import Counter
from itertools import islice

import pytest

from benchmarks.damage import damaged
from benchmarks.fuzz_ir import GOLDEN, judge
from warpwright.lowering.frontend.irhash import hash_document
from warpwright.lowering.frontend.precheck import precheck
from warpwright.solver.domain import WarpwrightError, dump
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool


@pytest.mark.parametrize("seed", range(4))
def test_the_check_raises_typed_errors_only(seed: int) -> None:
    graph = json.loads((GOLDEN / "one_trip.json").read_text())
    codes = Counter[str]()
    for text in islice(damaged(graph, 1000 + seed), 250):
        try:
            hash_document(precheck(text))
            codes["passes"] += 1
        except WarpwrightError as error:
            codes[error.code] += 1
    assert codes["passes"] > 10, "damage that the check lets through must be among it, or the child is never tried"
    assert len(codes) > 5
    assert "warpwright-error" not in codes


def test_what_passes_the_check_ends_in_the_child_as_graph_or_typed_error() -> None:
    graph = json.loads((GOLDEN / "one_trip.json").read_text())
    profile = dump(load_profile("h200"))
    words = Counter[str]()
    with ChildPool(1, warm_task="frontend.read", tasks_per_child=1000) as pool:
        for text in islice(damaged(graph, 7), 120):
            words[judge(pool, profile, text)] += 1
    assert not [word for word in words if word.startswith(("UNTYPED", "child ended"))], words
    assert words["graph"] > 10
    assert sum(count for word, count in words.items() if word.startswith("refused in the child")) > 5
