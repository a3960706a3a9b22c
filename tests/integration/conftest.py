"""One build of the frontend's corpus and one warm child for all integration tests that ask for them."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from warpwright.solver.domain import KernelGraph, dump, load
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, Limits, Reply, Returned

BUILDER = Path(__file__).parent / "lowering" / "frontend" / "build_corpus.py"
LIMITS = Limits(wall_seconds=120)
ReadGraph = Callable[[str], KernelGraph]


@pytest.fixture(scope="session")
def corpus_ir(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """IR JSON of a kernel of the corpus, by name."""
    folder = tmp_path_factory.mktemp("corpus")
    command = [sys.executable, str(BUILDER), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert built.returncode == 0, built.stderr[-4000:]
    return lambda name: (folder / f"{name}.json").read_text()


@pytest.fixture(scope="session")
def pool() -> Iterator[ChildPool]:
    with ChildPool(1, warm_task="frontend.read", tasks_per_child=1000) as children:
        yield children


@pytest.fixture(scope="session")
def read(pool: ChildPool, corpus_ir: Callable[[str], str]) -> Callable[[str], Reply]:
    """The reply of ``frontend.read`` for a kernel of the corpus, on the H200."""
    profile = dump(load_profile("h200"))
    replies: dict[str, Reply] = {}

    def task(name: str) -> Reply:
        if name not in replies:
            replies[name] = pool.run("frontend.read", {"ir": corpus_ir(name), "profile": profile}, LIMITS)
        return replies[name]

    return task


@pytest.fixture(scope="session")
def read_graph(read: Callable[[str], Reply]) -> ReadGraph:
    """The graph of a kernel of the corpus."""

    def graph(name: str) -> KernelGraph:
        reply = read(name)
        assert isinstance(reply, Returned), reply
        value: Any = load(KernelGraph, reply.value["graph"])
        assert isinstance(value, KernelGraph)
        return value

    return graph
