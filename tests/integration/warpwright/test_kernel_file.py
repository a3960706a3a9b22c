"""Kernel files of every kind, read in one warm child, and the faults that a user makes."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from warpwright.errors import KernelFileError
from warpwright.kernel_file import parse_setting, read_kernel_file
from warpwright.tuning.children import ChildPool, Limits, Refused, Returned

ROOT = Path(__file__).resolve().parents[3]
LIMITS = Limits(wall_seconds=120.0)

PRIM_FUNC = """
import tilelang.language as T

@T.prim_func
def {name}(A: T.Tensor(({size},), T.float32), B: T.Tensor(({size},), T.float32)):
    with T.Kernel(1, threads=128) as bx:
        for i in T.Parallel({size}):
            B[i] = A[i] + T.float32(1)
"""

FACTORY = """
import tilelang.language as T

def {name}(size{default}, offset=1.0):
    @T.prim_func
    def add(A: T.Tensor((size,), T.float32), B: T.Tensor((size,), T.float32)):
        with T.Kernel(1, threads=128) as bx:
            for i in T.Parallel(size):
                B[i] = A[i] + T.float32(offset)
    return add
"""


SIZES = """
VARIANTS = [{"size": 128}, {"size": 256}]
CHECK_SIZES = [{"size": 100}, {"size": 256}]
"""


@pytest.fixture(scope="module")
def pool() -> Iterator[ChildPool]:
    with ChildPool(1) as warm:
        yield warm


class Reader:
    """Reads a kernel file's text in the warm child."""

    def __init__(self, pool: ChildPool, folder: Path) -> None:
        self.pool, self.folder = pool, folder

    def reply(self, text: str, **payload: Any) -> Any:
        path = self.folder / "kernels_of_a_user.py"
        path.write_text(text)
        return self.pool.run("kernel_file.read", {"path": str(path), **payload}, LIMITS)

    def value(self, text: str, **payload: Any) -> dict[str, Any]:
        reply = self.reply(text, **payload)
        assert isinstance(reply, Returned), reply
        return reply.value

    def refusal(self, text: str, **payload: Any) -> Refused:
        reply = self.reply(text, **payload)
        assert isinstance(reply, Refused), reply
        return reply


@pytest.fixture
def reader(pool: ChildPool, tmp_path: Path) -> Reader:
    return Reader(pool, tmp_path)


def test_one_top_level_kernel_is_found(reader: Reader) -> None:
    value = reader.value(PRIM_FUNC.format(name="add_one", size=256))
    assert value["name"] == "add_one"
    assert [variant["params"] for variant in value["variants"]] == [{}]
    assert "add_one" in json.dumps(json.loads(value["variants"][0]["ir"]))


def test_a_factory_with_defaults_needs_no_settings(reader: Reader) -> None:
    value = reader.value(FACTORY.format(name="kernel", default="=256"))
    assert (value["name"], len(value["variants"])) == ("add", 1)


def test_a_family_keeps_its_order_and_takes_settings_on_top(reader: Reader) -> None:
    text = (
        FACTORY.format(name="kernel", default="=256") + "\nVARIANTS = [{'size': 512}, {'size': 1024}, {'size': 512}]\n"
    )
    value = reader.value(text, set={"offset": 2.0})
    assert [variant["params"] for variant in value["variants"]] == [
        {"size": 512, "offset": 2.0},
        {"size": 1024, "offset": 2.0},
    ]
    assert value["variants"][0]["ir"] != value["variants"][1]["ir"]


def test_other_sizes_are_a_variants_own_parameters_with_others_in_their_place(reader: Reader) -> None:
    value = reader.value(FACTORY.format(name="kernel", default="=256") + SIZES, set={"offset": 2.0})
    first, second = value["variants"]
    assert [size["name"] for size in first["sizes"]] == ["size=100", "size=256"]
    assert [size["name"] for size in second["sizes"]] == ["size=100"]
    assert first["sizes"][1]["ir"] == second["ir"]
    assert first["sizes"][0]["ir"] not in (first["ir"], second["ir"])
    alone = reader.value(FACTORY.format(name="kernel", default="=256") + SIZES.replace("VARIANTS", "OTHERS"))
    assert [size["name"] for size in alone["variants"][0]["sizes"]] == ["size=100", "size=256"]


def test_sizes_that_are_no_parameters_are_the_files_fault(reader: Reader) -> None:
    text = FACTORY.format(name="kernel", default="=256")
    assert reader.refusal(text + "CHECK_SIZES = [128]\n").code == "kernel-file-bad-family"
    assert reader.refusal(text + "CHECK_SIZES = [{'sise': 1}]\n").code == "kernel-file-needs-arguments"


def test_a_jit_kernel_and_an_autotuned_family(reader: Reader) -> None:
    text = FACTORY.format(name="adder", default="=256").replace("def adder", "@tilelang.jit\ndef adder")
    assert len(reader.value("import tilelang\n" + text)["variants"]) == 1
    tuned = text.replace("@tilelang.jit", "@tilelang.autotune(configs=[{'size': 128}, {'size': 256}])\n@tilelang.jit")
    value = reader.value("import tilelang\n" + tuned)
    assert [variant["params"] for variant in value["variants"]] == [{"size": 128}, {"size": 256}]


def test_several_kernels_are_listed_and_function_chooses(reader: Reader) -> None:
    text = PRIM_FUNC.format(name="first", size=128) + PRIM_FUNC.format(name="second", size=256)
    refusal = reader.refusal(text)
    assert refusal.code == "kernel-file-several-kernels"
    assert "first, second" in refusal.message
    assert reader.value(text, function="second")["name"] == "second"


def test_no_kernel_says_what_would_be_one(reader: Reader) -> None:
    refusal = reader.refusal("x = 1\n")
    assert refusal.code == "kernel-file-no-kernel"
    assert "@T.prim_func" in refusal.message


def test_an_unknown_function_lists_what_there_is(reader: Reader) -> None:
    refusal = reader.refusal(PRIM_FUNC.format(name="first", size=128), function="third")
    assert refusal.code == "kernel-file-no-kernel"
    assert "first" in refusal.message


def test_missing_arguments_show_the_signature(reader: Reader) -> None:
    refusal = reader.refusal(FACTORY.format(name="kernel", default=""))
    assert refusal.code == "kernel-file-needs-arguments"
    assert "size" in refusal.message
    assert "--set" in refusal.message


def test_a_setting_that_the_function_does_not_take_is_refused(reader: Reader) -> None:
    assert (
        reader.refusal(FACTORY.format(name="kernel", default="=1"), set={"sise": 1}).code
        == "kernel-file-needs-arguments"
    )


def test_an_exception_comes_with_the_users_own_lines_only(reader: Reader) -> None:
    refusal = reader.refusal("def kernel():\n    return 1 // 0\n")
    assert refusal.code == "kernel-file-raised"
    assert "ZeroDivisionError" in refusal.message
    assert "return 1 // 0" in refusal.message
    assert "kernel_child" not in refusal.message
    assert str(refusal.place).endswith("kernels_of_a_user.py:2")


def test_a_syntax_error_and_an_exit_are_the_files_fault(reader: Reader) -> None:
    assert "SyntaxError" in reader.refusal("def kernel(:\n").message
    assert "SystemExit" in reader.refusal("import sys\nsys.exit(3)\n").message


def test_a_file_that_cannot_be_parsed_shows_no_line_of_the_import_machinery(reader: Reader) -> None:
    assert "importlib" not in reader.refusal("def kernel(:\n").message


PACKAGE_MODULE = """
from .sizes import SIZE
import tilelang.language as T

class Layer:
    offset = 2.0

    @classmethod
    def make(cls, *, offset=0.0):
        @T.prim_func
        def add(A: T.Tensor((SIZE,), T.float32), B: T.Tensor((SIZE,), T.float32)):
            with T.Kernel(1, threads=128) as bx:
                for i in T.Parallel(SIZE):
                    B[i] = A[i] + T.float32(cls.offset + offset)
        return add
"""


def package(folder: Path, size: int) -> Path:
    """A package ``ops.kernels`` with a module that imports relatively."""
    home = folder / "ops" / "kernels"
    home.mkdir(parents=True)
    (folder / "ops" / "__init__.py").touch()
    (home / "__init__.py").touch()
    (home / "sizes.py").write_text(f"SIZE = {size}\n")
    (home / "layer.py").write_text(PACKAGE_MODULE)
    return home / "layer.py"


def test_a_module_of_a_package_imports_relatively_and_a_class_method_is_a_factory(
    pool: ChildPool, tmp_path: Path
) -> None:
    for size, other in ((512, 1024), (1024, 512)):  # one child reads both: what the first package brought along is gone
        path = package(tmp_path / str(size), size)
        family = read_kernel_file(path, function="Layer.make", settings={"offset": 1.0}, pool=pool)
        assert str(size) in family.variants[0].ir
        assert str(other) not in family.variants[0].ir
        home = path.parent
        packages = [home.parent / "__init__.py", home / "__init__.py"]
        assert sorted(family.files) == sorted(map(str, [*packages, path, home / "sizes.py"]))
    with pytest.raises(KernelFileError, match=r"has no 'Layer\.build'; it has Layer") as caught:
        read_kernel_file(path, function="Layer.build", pool=pool)
    assert caught.value.code == "kernel-file-no-kernel"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import os; os._exit(7)", "ended its process with exit code 7"),
        ("import os; os.kill(os.getpid(), 11)", "ended its process by Segmentation fault (11)"),
    ],
)
def test_a_file_that_ends_its_process_is_told_in_words(pool: ChildPool, tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "ends.py"
    path.write_text(text)
    with pytest.raises(KernelFileError) as caught:
        read_kernel_file(path, pool=pool)
    assert caught.value.message == f"ends.py {words}"


def test_a_function_that_gives_no_kernel_is_refused(reader: Reader) -> None:
    assert reader.refusal("def kernel():\n    return 42\n").code == "kernel-file-not-a-kernel"


def test_the_example_is_read_with_settings() -> None:
    family = read_kernel_file(ROOT / "examples" / "gemm.py", settings={"M": 1024})
    assert family.name == "gemm_bias_relu"
    assert len(family.variants) > 1
    assert all(variant.params["M"] == 1024 for variant in family.variants)


def test_ir_json_is_read_as_it_is_and_other_text_is_not(tmp_path: Path) -> None:
    saved = tmp_path / "saved.json"
    saved.write_text('{"root_index": 0}')
    assert read_kernel_file(saved).variants[0].ir == '{"root_index": 0}'
    saved.write_text("no JSON")
    with pytest.raises(KernelFileError, match="not JSON") as caught:
        read_kernel_file(saved)
    assert caught.value.code == "ir-not-json"
    with pytest.raises(KernelFileError, match="file not found"):
        read_kernel_file(tmp_path / "absent.py")


@pytest.mark.parametrize(
    ("text", "value"),
    [("a=1", 1), ("a=true", True), ("a=True", True), ("a=[1,2]", [1, 2]), ("a=bf16", "bf16"), ("a=x=y", "x=y")],
)
def test_settings_are_json_or_words(text: str, value: object) -> None:
    assert parse_setting(text) == ("a", value)


@pytest.mark.parametrize("text", ["a", "=1", "a b=1"])
def test_a_setting_without_a_name_is_refused(text: str) -> None:
    with pytest.raises(KernelFileError, match="NAME=VALUE"):
        parse_setting(text)
