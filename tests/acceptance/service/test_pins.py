"""Pins over HTTP: a value outside its domain is 422 with its place and the legal set, whoever asks; what is applied is echoed."""

from typing import Any

import httpx
import pytest

from warpwright.service.testing import stand_in_ir

REFUSED: list[tuple[str, dict[str, Any], str, str]] = [
    ("h200", {"consumer_warpgroups": 0}, "pin-out-of-domain", "/pins/consumer_warpgroups"),
    ("h200", {"consumer_warpgroups": 2**70}, "pin-out-of-domain", "/pins/consumer_warpgroups"),
    ("h200", {"stages": [{"op": "gemm", "stage": -(2**40)}]}, "pin-out-of-domain", "/pins/stages/0/stage"),
    ("h200", {"roles": [{"role": "load", "registers_per_thread": 23}]}, "pin-out-of-domain",
     "/pins/roles/0/registers_per_thread"),
    ("h200", {"roles": [{"role": "load", "warps_lo": 4, "warps_hi": 4}]}, "pin-range", "/pins/roles/0"),
    ("h200", {"roles": [{"role": "load"}]}, "pin-empty", "/pins/roles/0"),
    ("h200", {"depths": [{"buffer": "As", "depth": 0}]}, "pin-out-of-domain", "/pins/depths/0/depth"),
    ("h200", {"pipelines": [{"buffers": ["As", "As"]}]}, "pin-repeated", "/pins/pipelines/0/buffers"),
    ("h200", {"pipelines": [{"buffers": []}]}, "pin-empty", "/pins/pipelines/0/buffers"),
    ("h200", {"buffers": [{"buffer": "As", "versions": 2}]}, "pin-not-for-cuda", "/pins/buffers"),
    ("h200", {"depths": [{"buffer": "As", "depth": "two"}]}, "document-invalid", "/pins/depths/0/depth"),
    ("ascend950", {"consumer_warpgroups": 2}, "pin-not-for-ascend", "/pins/consumer_warpgroups"),
    ("ascend950", {"buffers": [{"buffer": "x", "versions": 3_000_000_000}]}, "pin-version-count", "/pins/buffers/0/versions"),
    ("ascend950", {"buffers": [{"buffer": "x", "mode": "bogus"}]}, "pin-version-mode", "/pins/buffers/0/mode"),
    ("ascend950", {"buffers": [{"buffer": "x", "versions": 0}]}, "pin-version-count", "/pins/buffers/0/versions"),
    ("ascend950", {"buffers": [{"buffer": "x", "manual_versions": -1}]}, "pin-manual-count", "/pins/buffers/0/manual_versions"),
    ("ascend950", {"unlimited_memories": ["L1"]}, "pin-unlimited-scope", "/pins/unlimited_memories/0"),
]  # fmt: skip


@pytest.mark.parametrize("address", ["/v1/solve", "/v1/jobs", "/v1/results:lookup"])
@pytest.mark.parametrize(("profile", "pins", "code", "place"), REFUSED)
def test_pins_outside_their_domain(
    client: httpx.Client, address: str, profile: str, pins: dict[str, Any], code: str, place: str
) -> None:
    body = {"ir": stand_in_ir(), "profile": profile, "pins": {"schema": "warpwright.pins/1", **pins}}
    answer = client.post(address, json=body)
    assert answer.status_code == 422, answer.text
    assert (answer.json()["code"], answer.json()["place"]) == (code, place)


def test_the_answer_says_which_pins_were_applied(client: httpx.Client) -> None:
    pins = {"schema": "warpwright.pins/1", "store_role": False}
    answer = client.post("/v1/solve", json={"ir": stand_in_ir(), "profile": "h200", "pins": pins})
    assert answer.status_code == 200, answer.text
    assert answer.json()["pins"]["store_role"] is False
    assert answer.json()["pins"]["consumer_warpgroups"] is None
