"""Kernel files as people write them: eager style, functions in functions, classes, several kernels, arguments at import."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpwright.batch import batch_text
from warpwright.errors import KernelFileError
from warpwright.kernel_file import KernelFile, read_kernel_file, read_kernels
from warpwright.lowering.frontend.irhash import ir_hash
from warpwright.solver.profiles import load_profile
from warpwright.tuning.children import ChildPool, Limits, Returned

TEXT = """
import argparse
import tilelang
import tilelang.language as T

parser = argparse.ArgumentParser()
parser.add_argument("--size", type=int, default=256)
SIZE = parser.parse_args().size

@tilelang.jit
def scale(A, block: int = 128):
    N, M = T.const("N M")
    A: T.Tensor((N, M), "float32")
    B = T.empty((N, M), "float32")
    with T.Kernel(T.ceildiv(N, block), threads=128) as b:
        for i, j in T.Parallel(block, M):
            B[b * block + i, j] = A[b * block + i, j] * 2.0
    return B

def add(size, offset):
    @T.prim_func
    def main(A: T.Tensor((size,), "float32")):
        with T.Kernel(1, threads=128) as b:
            for i in T.Parallel(size):
                A[i] = A[i] + T.float32(offset)
    return main

def nested(size):
    @tilelang.jit
    def inner(offset):
        return add(size, offset)
    return inner

def pair(size):
    return {"split": add(size, 1.0), "combine": add(size, 2.0)}

@T.prim_func
def two(A: T.Tensor((128,), "float32"), B: T.Tensor((128,), "float32")):
    with T.Kernel(1, threads=128) as b:
        for i in T.Parallel(128):
            B[i] = A[i] + 1.0
    with T.Kernel(2, threads=64) as b:
        for i in T.Parallel(64):
            A[b * 64 + i] = B[b * 64 + i] + 1.0

@tilelang.jit(pass_configs={"tl.enable_fast_math": True, "tl.disable_warp_specialized": True}, compile_flags="-fmad=false")
def configured():
    return add(128, 3.0)

class Op:
    def __init__(self, size):
        self.size, self.kernel = size, nested(size)

    def make(self, offset):
        return add(self.size, offset)
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with ChildPool(1) as warm:
        yield warm


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("styles") / "ops.py"
    file.write_text(TEXT)
    return file


@pytest.mark.parametrize(
    ("function", "settings", "name", "sizes"),
    [
        ("scale", {"N": 4096, "M": 96}, "scale", ("4096", "96")),
        ("nested", {"size": 640, "offset": 1}, "main", ("640",)),
        ("pair.combine", {"size": 640}, "main", ("640",)),
        ("two.2", {}, "two_2", ("64",)),
        ("Op.make", {"size": 640, "offset": 1}, "main", ("640",)),
        ("Op.kernel", {"size": 640, "offset": 1}, "main", ("640",)),
    ],
)
def test_a_kernel_is_read_as_its_author_wrote_it(
    pool: ChildPool, path: Path, function: str, settings: dict[str, int], name: str, sizes: tuple[str, ...]
) -> None:
    kernel = read_kernel_file(path, function=function, settings=settings, pool=pool)
    assert kernel.name == name
    numbers = {str(node["data"]["value"]) for node in _nodes(kernel) if node["type"] == "ir.IntImm"}
    assert numbers.issuperset(sizes)


def _nodes(kernel: KernelFile) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(kernel.variants[0].ir)["nodes"]
    return found


@pytest.mark.parametrize(
    ("function", "settings", "code", "words"),
    [
        ("scale", {"M": 96}, "needs-arguments", r"missing N; give values with --set"),
        ("scale", {}, "needs-arguments", r"missing N, M; give values"),
        ("scale", {"N": 1, "M": 1, "Q": 1}, "needs-arguments", r"has no parameter 'Q'"),
        ("nested", {"size": 640}, "needs-arguments", r"nested\(size, offset\): .*'offset'"),
        ("pair", {"size": 640}, "several-kernels", r"pair\.split, pair\.combine.*warpwright batch ops\.py"),
        ("pair.third", {"size": 640}, "no-kernel", r"no kernel 'third'"),
        ("two", {}, "several-kernels", r"two\.1, two\.2"),
        ("Op.third", {"size": 1}, "no-kernel", r"an object of Op has no 'third'"),
    ],
)
def test_what_is_missing_is_named(
    pool: ChildPool, path: Path, function: str, settings: dict[str, int], code: str, words: str
) -> None:
    with pytest.raises(KernelFileError, match=words) as caught:
        read_kernel_file(path, function=function, settings=settings, pool=pool)
    assert caught.value.code == f"kernel-file-{code}"


def test_an_argument_that_a_program_demands_is_told_in_its_own_words(pool: ChildPool, tmp_path: Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(TEXT.replace("default=256", "required=True"))
    with pytest.raises(KernelFileError, match="the following arguments are required: --size"):
        read_kernel_file(file, pool=pool)


def test_a_python_file_is_a_batch_of_its_kernels(pool: ChildPool, path: Path) -> None:
    told: list[str] = []
    body = batch_text(path, load_profile("h200"), settings={"M": 96}, tell=told.append, pool=pool)
    lines = [json.loads(line) for line in body.splitlines()]
    assert [line["label"] for line in lines] == ["ops.py:two.1", "ops.py:two.2", "ops.py:configured"]
    assert all(line["profile"]["name"] == "h200" and len(line["variants"]) == 1 for line in lines)
    assert len(told) == 1
    assert told[0].startswith("scale:")


def test_one_function_gives_all_its_kernels(pool: ChildPool, path: Path) -> None:
    kernels, unread = read_kernels(path, function="pair", settings={"size": 640}, pool=pool)
    assert ([kernel.function for kernel in kernels], unread) == (["pair.split", "pair.combine"], ())


def test_the_authors_build_settings_are_part_of_the_kernel_and_its_source(pool: ChildPool, path: Path) -> None:
    ir = read_kernel_file(path, function="configured", pool=pool).variants[0].ir
    plain = read_kernel_file(path, function="add", settings={"size": 128, "offset": 3.0}, pool=pool).variants[0].ir
    assert ir_hash(ir) != ir_hash(plain)
    payload = {"ir": ir, "arch": "sm_90a", "schedule": None, "source_only": True, "output": str(path.parent)}
    for kind, ignored in (("default", []), ("role_based", ["tl.disable_warp_specialized"]), ("unspecialized", [])):
        built = pool.run("compile.cuda", {**payload, "variant": kind}, Limits(wall_seconds=60.0))
        assert isinstance(built, Returned), built
        assert (built.value["options"], built.value["settings_ignored"]) == (["fast_math"], ignored)
        text = pool.run("materialize.plain", {"ir": ir, "variant": kind}, Limits(wall_seconds=60.0))
        assert isinstance(text, Returned), text
        assert ("disable_warp_specialized': True, 'tl.enable_fast" in text.value["source"]) == (kind == "default")
        again = path.parent / f"{kind}.py"
        again.write_text(text.value["source"])
        if kind == "default":
            assert ir_hash(read_kernel_file(again, pool=pool).variants[0].ir) == ir_hash(ir)
