"""Files between workers and the service: by digest, over HTTP, checked at both ends. No shared folder is needed."""

import time
from collections.abc import Mapping

import httpx

from warpwright.solver.domain import WarpwrightError, digest_bytes
from warpwright.tuning import telemetry

__all__ = ["TransferFailed", "download", "upload"]

SECONDS = 60.0
DELAYS = (0.2, 1.0, 3.0)
"""Pauses between attempts of a transfer: a service that restarts is back within seconds."""


class TransferFailed(WarpwrightError):
    """A file could not be sent or arrived damaged."""

    code = "transfer-failed"


def upload(files: Mapping[str, bytes], service_url: str, token: str = "") -> dict[str, str]:
    """Send files to the service; returns their digests by name.

    Raises:
        TransferFailed: the service refused one or could not be reached.
    """
    digests: dict[str, str] = {}
    if not files:
        return digests
    with _client(service_url, token) as client:
        for name, data in files.items():
            digest = digest_bytes(data)
            _send(client, name, "PUT", f"/v1/artifacts/{digest}", data)
            digests[name] = digest
    return digests


def download(digests: Mapping[str, str], service_url: str, token: str = "") -> dict[str, bytes]:
    """Files by name from their digests.

    Raises:
        TransferFailed: one could not be fetched, or its bytes do not match.
    """
    files: dict[str, bytes] = {}
    with _client(service_url, token) as client:
        for name, digest in digests.items():
            content = _send(client, name, "GET", f"/v1/artifacts/{digest}").content
            if digest_bytes(content) != digest:
                raise TransferFailed(f"{name}: the bytes do not match {digest}")
            files[name] = content
    return files


def _client(service_url: str, token: str) -> httpx.Client:
    headers = telemetry.carrier() | ({"authorization": f"Bearer {token}"} if token else {})
    # Plain HTTP needs no certificate store, and loading one takes longer than most transfers.
    return httpx.Client(base_url=service_url, timeout=SECONDS, headers=headers, verify=service_url.startswith("https"))


def _send(client: httpx.Client, name: str, method: str, path: str, data: bytes | None = None) -> httpx.Response:
    """One transfer; both directions may be repeated, because the digest identifies the content."""
    for delay in (*DELAYS, None):
        try:
            kind = {"content-type": "application/octet-stream"} if data is not None else {}
            answer = client.request(method, path, content=data, headers=kind)
            if answer.status_code < 500 or delay is None:
                answer.raise_for_status()
                return answer
        except httpx.HTTPStatusError as error:
            raise TransferFailed(f"{name}: {error}") from error
        except httpx.HTTPError as error:
            if delay is None:
                raise TransferFailed(f"{name}: {error}") from error
        time.sleep(delay)
    raise AssertionError("the last try returns or raises")
