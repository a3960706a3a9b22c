"""The build step against compilers that misbehave. A stand-in nvcc checks its command line and does as it is told."""

import contextlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from warpwright.lowering.compile.bisheng import find_bisheng
from warpwright.lowering.compile.build import BuildResult, artifact_damage, build
from warpwright.lowering.compile.toolchain import CudaToolchain, ToolchainMissing, find_cuda
from warpwright.lowering.testing import toolchain as stand_in
from warpwright.solver.domain import Fault, Outcome, digest_bytes
from warpwright.tuning.children import ChildPool, Limits
from warpwright.tuning.children.step_outcome import of_reply


def run(
    tmp_path: Path, behaviour: stand_in.Behaviour = "good", *, log: str = "clean", arch: str = "sm_90a"
) -> BuildResult:
    nvcc = stand_in.write(tmp_path / "bin", behaviour, log=log)
    tools = CudaToolchain(nvcc, (tmp_path / "a" / "b" / "include",), None)
    return build("// source", arch, tools, tmp_path / "out")


def test_a_good_build_is_published_with_its_digest(tmp_path: Path) -> None:
    built = run(tmp_path)
    assert built.failure is None
    assert built.binary is not None
    assert built.binary.read_bytes() == stand_in.shared_object()
    assert json.loads((built.binary.parent / "build.json").read_text())["digest"] == built.digest
    assert [path.name for path in (tmp_path / "out").iterdir()] == [built.binary.parent.name]


def test_equal_sources_are_compiled_once(tmp_path: Path) -> None:
    first, second = run(tmp_path), run(tmp_path)
    assert (first.reused, second.reused) == (False, True)
    assert (first.binary, first.digest, first.report) == (second.binary, second.digest, second.report)


def test_equal_sources_compiled_at_once_are_one_build(tmp_path: Path) -> None:
    """nvcc's bytes differ from run to run: each builder named its own digest, and one file was there. On an H200 machine with
    30 builders the device refused the binaries of five candidates as not the ones that were built.
    """
    tools = CudaToolchain(stand_in.write(tmp_path / "bin", "fickle"), (), None)
    with ThreadPoolExecutor(4) as pool:
        builds = list(pool.map(lambda _: build("// source", "sm_90a", tools, tmp_path / "out"), range(4)))
    assert {built.failure for built in builds} == {None}
    assert sum(not built.reused for built in builds) == 1
    for built in builds:
        assert built.binary is not None
        assert digest_bytes(built.binary.read_bytes()) == built.digest


@pytest.mark.parametrize("keep", [0, 100, -1])
def test_a_truncated_artifact_is_a_miss_and_is_rebuilt(tmp_path: Path, keep: int) -> None:
    first = run(tmp_path)
    assert first.binary is not None
    first.binary.write_bytes(first.binary.read_bytes()[:keep])
    again = run(tmp_path)
    assert not again.reused
    assert again.binary is not None
    assert artifact_damage(again.binary.read_bytes()) == ""


@pytest.mark.parametrize("taken", ["kernel.so", "build.json", "compiler.log"])
def test_a_build_of_which_somebody_took_a_file_is_built_again(tmp_path: Path, taken: str) -> None:
    first = run(tmp_path)
    assert first.binary is not None
    (first.binary.parent / taken).unlink()
    again = run(tmp_path)
    assert not again.reused
    assert again.binary is not None
    assert digest_bytes(again.binary.read_bytes()) == again.digest
    assert run(tmp_path).reused


def test_another_architecture_is_another_artifact(tmp_path: Path) -> None:
    assert run(tmp_path).binary != run(tmp_path, arch="sm_100a").binary


@pytest.mark.parametrize(
    ("behaviour", "kind", "detail"),
    [
        ("truncated", Outcome.INFRASTRUCTURE, "artifact_damaged"),
        ("no_output", Outcome.INFRASTRUCTURE, "artifact_damaged"),
        ("wrong_arch", Outcome.COMPILE_FAILED, "wrong_arch"),
    ],
)
def test_a_bad_product_is_no_build(tmp_path: Path, behaviour: stand_in.Behaviour, kind: Outcome, detail: str) -> None:
    built = run(tmp_path, behaviour)
    assert built.failure is not None
    assert (built.failure.kind, built.failure.details) == (kind, (detail,))
    assert built.binary is None
    assert not (tmp_path / "out").exists()


def test_a_compiler_that_dies_is_a_failed_build(tmp_path: Path) -> None:
    built = run(tmp_path, "segfault")
    assert built.failure is not None
    assert built.failure.kind.fault is Fault.CANDIDATE


@pytest.mark.parametrize("log", ["C7600", "C7602", "multiple_of_8", "static_shared", "host_error"])
def test_every_assembler_failure_is_typed(tmp_path: Path, log: str) -> None:
    built = run(tmp_path, log=log)
    assert built.failure is not None
    assert built.failure.kind in (Outcome.COMPILE_FAILED, Outcome.OVER_RESOURCE)
    assert built.failure.message


def test_without_a_compiler_the_error_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ToolchainMissing, match=r"tilelang\[nvcc\]"):
        find_cuda(str(tmp_path / "nowhere"))
    monkeypatch.setenv("WARPWRIGHT_NVCC", str(stand_in.write(tmp_path)))
    assert find_cuda().nvcc == tmp_path / "nvcc"


def test_an_ascend_object_is_built_by_bisheng_when_it_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in checks TileLang's options, the one architecture, the source's suffix and the output on its command line."""
    for key in ("BISHENG_HOME", "ASCEND_HOME_PATH", "ASCEND_TOOLKIT_HOME"):
        monkeypatch.delenv(key, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    with pytest.raises(ToolchainMissing, match="CANN"):
        find_bisheng()
    monkeypatch.setenv("BISHENG_HOME", str(tmp_path))
    stand_in.write(tmp_path / "bin", name="bisheng")
    built = build("// ascend", "ascend950", find_bisheng(), tmp_path / "out")
    assert built.failure is None
    assert built.binary is not None
    assert (built.binary.parent / "kernel.asc").read_text() == "// ascend"
    assert built.report is None
    assert build("// ascend", "ascend950", find_bisheng(), tmp_path / "out").reused


@pytest.mark.parametrize(
    ("log", "kind", "resource"),
    [("ub", Outcome.OVER_RESOURCE, "ub"), ("host_error", Outcome.COMPILE_FAILED, "")],
)
def test_what_bisheng_refuses_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, log: str, kind: Outcome, resource: str
) -> None:
    monkeypatch.setenv("BISHENG_HOME", str(tmp_path))
    stand_in.write(tmp_path / "bin", name="bisheng", log=log)
    built = build("// ascend", "dav-3510", find_bisheng(), tmp_path / "out")
    assert built.failure is not None
    assert (built.failure.kind, built.failure.resource) == (kind, resource)


@pytest.mark.parametrize(
    ("data", "word"),
    [(b"", "not an ELF"), (b"MZ" + b"\0" * 100, "not an ELF"), (stand_in.shared_object()[:-1], "truncated")],
)
def test_damage_of_an_artifact_is_named(data: bytes, word: str) -> None:
    assert word in artifact_damage(data)


@pytest.mark.parametrize(
    ("behaviour", "kind"),
    [
        ("hang", Outcome.TIMED_OUT),
        ("sleeper", Outcome.TIMED_OUT),
        ("memory", Outcome.OVER_RESOURCE),
    ],
)
def test_in_a_child_a_misbehaving_compiler_is_bounded(
    tmp_path: Path, behaviour: stand_in.Behaviour, kind: Outcome
) -> None:
    payload = {"nvcc": str(stand_in.write(tmp_path / "bin", behaviour)), "output": str(tmp_path / "out")}
    limits = Limits(wall_seconds=20 if behaviour == "memory" else 1.5, memory_bytes=200 << 20)
    with ChildPool(1) as pool:
        reply = pool.run("testing.build", payload, limits)
        outcome = of_reply(reply, "compile")
        assert outcome is not None
        assert (outcome.kind, outcome.kind.remembered) == (kind, True)
        assert compilers_of(tmp_path) == []
        good = {**payload, "nvcc": str(stand_in.write(tmp_path / "good"))}
        after = pool.run("testing.build", good, Limits(wall_seconds=20))
    assert of_reply(after, "compile") is None


def test_in_a_child_gigabytes_of_compiler_output_stay_out_of_our_reply(tmp_path: Path) -> None:
    payload = {"nvcc": str(stand_in.write(tmp_path / "bin", "flood")), "output": str(tmp_path / "out")}
    with ChildPool(1) as pool:
        reply = pool.run("testing.build", payload, Limits(wall_seconds=30, output_bytes=1 << 20))
    assert of_reply(reply, "compile") is None


def compilers_of(folder: Path) -> list[int]:
    """Processes that still run something below the folder."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if any(str(folder) in part for part in process.cmdline()) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process.pid)
    return found
