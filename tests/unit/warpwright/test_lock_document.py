"""The lock file: stable text, digests that notice a hand edit, one entry a place."""

import fcntl
import json
import os
import signal
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from warpwright.errors import LockError
from warpwright.lock import folder_names
from warpwright.lock.document import LockEntry, merged, read_lock, update_lock, write_lock
from warpwright.lock.exclusive import alone_in
from warpwright.solver.domain import ROOT, OpRef, Role, RoleBody, ScopeProgram, WarpSchedule, digest_text

SCHEDULE = WarpSchedule(
    num_warps=4,
    roles=(Role("consumer", 0, 4, 0),),
    pipelines=(),
    scopes=(ScopeProgram(ROOT, (RoleBody("consumer", (OpRef("copy_A"),)),)),),
)

ENTRY = LockEntry(
    kernel="gemm",
    file="kernels/gemm.py",
    function=None,
    settings={"M": 1024},
    params={"M": 1024, "BM": 128},
    profile="h200",
    profile_digest="sha256:aa",
    ir_hash="sha256:bb",
    kind="scheduled",
    schedule=SCHEDULE,
    certificate=None,
    source_digest="sha256:cc",
    toolchain="tilelang 0.1.15",
    note="compiled, not measured",
    time_ns=1000.0,
)
BASELINE = replace(ENTRY, profile="h100", kind="default", schedule=None, source_digest="")


def test_what_is_written_is_read(tmp_path: Path) -> None:
    lock = tmp_path / "warpwright.lock"
    write_lock(lock, [ENTRY, BASELINE])
    assert {entry.profile for entry in read_lock(lock)} == {"h100", "h200"}
    assert ENTRY in read_lock(lock)
    assert list(tmp_path.iterdir()) == [lock]


def test_the_order_of_the_entries_does_not_change_the_text(tmp_path: Path) -> None:
    write_lock(tmp_path / "a", [ENTRY, BASELINE])
    write_lock(tmp_path / "b", [BASELINE, ENTRY])
    assert (tmp_path / "a").read_text() == (tmp_path / "b").read_text()


def test_a_new_entry_takes_the_place_of_the_old_one() -> None:
    again = replace(ENTRY, time_ns=900.0)
    assert merged([ENTRY, BASELINE], [again]) == (again, BASELINE)


def test_writers_at_the_same_time_lose_no_entry(tmp_path: Path) -> None:
    lock = tmp_path / "warpwright.lock"
    entries = [replace(ENTRY, file=f"kernels/{number}.py") for number in range(12)]
    with ThreadPoolExecutor(6) as threads:
        list(threads.map(lambda entry: update_lock(lock, [entry]), entries))
    assert sorted(entry.file for entry in read_lock(lock)) == sorted(entry.file for entry in entries)
    assert list(tmp_path.iterdir()) == [lock]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # Python 3.12, when an earlier test has left a thread
def test_a_child_that_outlives_the_work_holds_nothing(tmp_path: Path) -> None:
    with alone_in(tmp_path):
        child = os.fork()
        if child == 0:
            time.sleep(60.0)
            os._exit(0)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError when the child holds it
    finally:
        os.close(handle)
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)


def test_an_unresolved_merge_is_told_with_its_line(tmp_path: Path) -> None:
    lock = tmp_path / "warpwright.lock"
    write_lock(lock, [ENTRY])
    first, rest = lock.read_text().split("\n", 1)
    lock.write_text(f"{first}\n<<<<<<< ours\n=======\n>>>>>>> theirs\n{rest}")
    with pytest.raises(LockError, match="unresolved merge at line 2") as caught:
        read_lock(lock)
    assert caught.value.code == "lock-conflict"


def test_a_merge_that_kept_both_sides_is_told(tmp_path: Path) -> None:
    lock = tmp_path / "warpwright.lock"
    write_lock(lock, [ENTRY, replace(ENTRY, time_ns=900.0)])
    with pytest.raises(LockError, match=r"names kernels/gemm\.py for h200 twice; remove one") as caught:
        read_lock(lock)
    assert caught.value.code == "lock-duplicate"


def test_a_profile_of_the_users_own_is_named_by_its_file(tmp_path: Path) -> None:
    lock = tmp_path / "warpwright.lock"
    own = replace(ENTRY, profile_file="devices/mine.toml")
    write_lock(lock, [own, BASELINE])
    assert own in read_lock(lock)
    assert lock.read_text().count("profile_file") == 1  # a file without such profiles is the file that it was
    assert own.relock == "warpwright lock kernels/gemm.py --profile devices/mine.toml --set M=1024"


def test_kernels_of_one_name_have_folders_of_their_own() -> None:
    other = replace(ENTRY, settings={"M": 2048})
    first, second, third = folder_names([ENTRY, other, BASELINE])
    assert third == "gemm-h100"
    assert len({first, second, third}) == 3
    assert {first.rpartition("-")[0], second.rpartition("-")[0]} == {"gemm-h200"}
    assert folder_names([other, ENTRY]) == (second, first)


def test_build_options_are_kept_and_files_of_before_have_none(tmp_path: Path) -> None:
    lock = tmp_path / "warpwright.lock"
    flushed = replace(ENTRY, build_options=("flush_denormals",))
    write_lock(lock, [flushed])
    assert read_lock(lock) == (flushed,)
    old = {key: value for key, value in ENTRY.body().items() if key != "build_options"}
    text = json.dumps(old, sort_keys=True, separators=(",", ":"))
    entries = [{**old, "digest": digest_text(text)}]
    lock.write_text(json.dumps({"schema": "warpwright.lock/1", "entries": entries}))
    assert read_lock(lock) == (ENTRY,)


@pytest.mark.parametrize("field", ["kind", "ir_hash", "profile_digest", "time_ns", "params"])
def test_a_hand_edit_is_noticed(tmp_path: Path, field: str) -> None:
    lock = tmp_path / "warpwright.lock"
    write_lock(lock, [ENTRY])
    document = json.loads(lock.read_text())
    document["entries"][0][field] = None
    lock.write_text(json.dumps(document))
    with pytest.raises(LockError, match="digest differs") as caught:
        read_lock(lock)
    assert caught.value.code == "lock-damaged"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("{", "lock-not-json"),
        ("[]", "lock-schema"),
        ('{"schema": "warpwright.lock/2", "entries": []}', "lock-schema"),
        ('{"schema": "warpwright.lock/1"}', "lock-invalid"),
        ('{"schema": "warpwright.lock/1", "entries": [1]}', "lock-invalid"),
    ],
)
def test_a_file_that_is_no_lock_says_why(tmp_path: Path, text: str, code: str) -> None:
    lock = tmp_path / "warpwright.lock"
    lock.write_text(text)
    with pytest.raises(LockError) as caught:
        read_lock(lock)
    assert caught.value.code == code


def test_a_missing_lock_is_named(tmp_path: Path) -> None:
    with pytest.raises(LockError, match="absent") as caught:
        read_lock(tmp_path / "absent.lock")
    assert caught.value.code == "lock-missing"
