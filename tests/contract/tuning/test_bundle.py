"""Bundles: what is packed comes out again, hostile archives do not, and results are those of the bundle that was sent."""

import io
import json
import tarfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from warpwright.lowering.compile import CompiledKernel
from warpwright.lowering.measure import MeasureJob, yardstick
from warpwright.lowering.testing import toolchain as stand_in
from warpwright.lowering.testing.device import simulated_kernel
from warpwright.solver.domain import Outcome, digest_bytes
from warpwright.tuning.bundle import BundleError, Contents, measure_bundle, pack, read_results, unpack


def on_disk(folder: Path, name: str, padding: int) -> CompiledKernel:
    """A kernel with a file of its own."""
    data = stand_in.shared_object(padding)
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.so").write_bytes(data)
    return replace(simulated_kernel(name), binary=str(folder / f"{name}.so"), binary_digest=digest_bytes(data))


@pytest.fixture
def contents(tmp_path: Path) -> Contents:
    reference = on_disk(tmp_path / "built", "reference", 64)
    kernels = [on_disk(tmp_path / "built", name, size) for name, size in (("a", 128), ("b", 256))]
    jobs = [MeasureJob(kernel.binary or "", kernel, reference, floor_ns=5.0) for kernel in kernels]
    jobs = [replace(job, candidate=name) for job, name in zip(jobs, "ab", strict=True)]
    jobs.append(MeasureJob("library", yardstick("torch.matmul", reference.arguments), None))
    return Contents(tuple(jobs), origin="job_1", profile="h200", preference=("a",), groups=(("a", "b"),))


@pytest.fixture
def bundle(contents: Contents, tmp_path: Path) -> Path:
    path = tmp_path / "b.tar"
    pack(path, contents)
    return path


def rewritten(bundle: Path, change: Callable[[dict[str, bytes]], Any]) -> Path:
    """A copy of the bundle with its files changed."""
    with tarfile.open(bundle) as archive:
        files = {entry.name: archive.extractfile(entry).read() for entry in archive if entry.isreg()}  # type: ignore[union-attr]  # regular files have one
    change(files)
    path = bundle.with_suffix(".changed.tar")
    with tarfile.open(path, "w:") as archive:
        for name, data in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
    return path


def test_what_is_packed_comes_out_again(contents: Contents, bundle: Path, tmp_path: Path) -> None:
    found = unpack(bundle, tmp_path / "out")
    assert [job.candidate for job in found.jobs] == ["a", "b", "library"]
    assert found.digest() == contents.digest()
    assert (found.origin, found.profile, found.preference, found.groups) == ("job_1", "h200", ("a",), (("a", "b"),))
    for job in found.jobs[:2]:
        assert Path(job.kernel.binary or "").is_relative_to(tmp_path / "out")
        assert digest_bytes(Path(job.kernel.binary or "").read_bytes()) == job.kernel.binary_digest
        assert job.floor_ns == 5.0
    assert found.jobs[2].kernel.binary == "library:torch.matmul"


def test_equal_contents_make_equal_bytes(contents: Contents, bundle: Path, tmp_path: Path) -> None:
    pack(tmp_path / "again.tar", contents)
    assert (tmp_path / "again.tar").read_bytes() == bundle.read_bytes()


def test_a_candidate_whose_binary_is_gone_or_damaged_is_not_packed(contents: Contents, tmp_path: Path) -> None:
    Path(contents.jobs[0].kernel.binary or "").write_bytes(b"short")
    with pytest.raises(BundleError, match="missing or damaged") as caught:
        pack(tmp_path / "x.tar", contents)
    assert caught.value.code == "bundle-binary-missing"


def change_manifest(**changes: Any) -> Callable[[dict[str, bytes]], Any]:
    def change(files: dict[str, bytes]) -> None:
        files["manifest.json"] = json.dumps({**json.loads(files["manifest.json"]), **changes}).encode()

    return change


def point_elsewhere(files: dict[str, bytes]) -> None:
    manifest = json.loads(files["manifest.json"])
    manifest["jobs"][0]["kernel"].update(binary="/usr/lib/libc.so.6", binary_digest="none")
    files["manifest.json"] = json.dumps(manifest).encode()


def first_binary(files: dict[str, bytes]) -> str:
    return sorted(name for name in files if name.startswith("binaries/"))[0]


HOSTILE: dict[str, Callable[[dict[str, bytes]], Any]] = {
    "path upwards": lambda files: files.update({"../evil.so": b"x"}),
    "absolute path": lambda files: files.update({"/tmp/evil.so": b"x"}),
    "another name": lambda files: files.update({"binaries/run.sh": b"x"}),
    "flipped bit": lambda files: files.update({first_binary(files): files[first_binary(files)][:-1] + b"\x01"}),
    "binary missing": lambda files: files.pop(first_binary(files)),
    "no manifest": lambda files: files.pop("manifest.json"),
    "manifest is no JSON": lambda files: files.update({"manifest.json": b"{"}),
    "manifest is deep": lambda files: files.update({"manifest.json": b"[" * 100_000}),
    "manifest is a list": lambda files: files.update({"manifest.json": b"[]"}),
    "another schema": change_manifest(schema="warpwright.bundle/9"),
    "unknown protocol": change_manifest(protocol="gpu-99"),
    "protocol with other numbers": change_manifest(protocol_digest="sha256:0"),
    "jobs of another shape": change_manifest(jobs=[{"candidate": 1}]),
    "a library outside the bundle": point_elsewhere,
}


@pytest.mark.parametrize("attack", HOSTILE)
def test_a_hostile_archive_is_refused_and_leaves_nothing(bundle: Path, tmp_path: Path, attack: str) -> None:
    with pytest.raises(BundleError):
        unpack(rewritten(bundle, HOSTILE[attack]), tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "evil.so").exists()


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE])
def test_links_folders_and_devices_are_refused(bundle: Path, tmp_path: Path, kind: bytes) -> None:
    with tarfile.open(bundle, "a:") as archive:
        entry = tarfile.TarInfo(f"binaries/{'0' * 64}.so")
        entry.type, entry.linkname = kind, "/etc/passwd"
        archive.addfile(entry)
    with pytest.raises(BundleError, match="an entry that does not belong in a bundle"):
        unpack(bundle, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_file_that_claims_to_be_huge_is_refused_before_it_is_read(bundle: Path, tmp_path: Path) -> None:
    entry = tarfile.TarInfo(f"binaries/{'0' * 64}.so")
    entry.size = 1 << 40
    (tmp_path / "huge.tar").write_bytes(entry.tobuf() + bundle.read_bytes())
    with pytest.raises(BundleError) as caught:
        unpack(tmp_path / "huge.tar", tmp_path / "out")
    assert caught.value.code == "bundle-too-large"


@pytest.mark.parametrize("data", [b"", b"not a tar at all", b"\x1f\x8b" + b"\0" * 600])
def test_a_file_that_is_no_tar_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "x.tar").write_bytes(data)
    with pytest.raises(BundleError):
        unpack(tmp_path / "x.tar", tmp_path / "out")


@pytest.mark.parametrize("keep", [0.1, 0.5, 0.99])
def test_a_bundle_cut_short_is_refused(bundle: Path, tmp_path: Path, keep: float) -> None:
    with tarfile.open(bundle) as archive:
        last = archive.getmembers()[-1]
    (tmp_path / "cut.tar").write_bytes(bundle.read_bytes()[: int((last.offset_data + last.size) * keep)])
    with pytest.raises(BundleError):
        unpack(tmp_path / "cut.tar", tmp_path / "out")


def test_a_bundle_is_measured_by_the_same_session_and_its_results_come_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WARPWRIGHT_LEASES", str(tmp_path / "leases"))
    reference = simulated_kernel("reference")
    jobs = tuple(MeasureJob(name, simulated_kernel(name), reference) for name in ("fast", "slow", "wrong"))
    contents = Contents(jobs, origin="job_7")
    digest = pack(tmp_path / "b.tar", contents)
    scripts = {"fast": {"ns": 100}, "slow": {"ns": 900}, "wrong": {"wrong": "value"}}
    text = measure_bundle(tmp_path / "b.tar", {"kind": "simulated", "kernels": scripts})
    results = read_results(text, bundle=digest)
    assert (results.origin, results.protocol, results.report.winner) == ("job_7", "gpu-1", "fast")
    assert results.report.result("wrong").outcome.kind is Outcome.WRONG_RESULT
    with pytest.raises(BundleError, match="another bundle"):
        read_results(text, bundle="sha256:0")
    forged = json.loads(text)
    forged["verdict"]["winner"] = "wrong"
    with pytest.raises(BundleError, match="may win"):
        read_results(json.dumps(forged))


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"schema": "warpwright.bundle-results/1"}', "[" * 100_000])
def test_results_that_are_none_are_refused(text: str) -> None:
    with pytest.raises(BundleError):
        read_results(text)
