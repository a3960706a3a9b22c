"""Files between workers and the service: by digest, over HTTP, checked at both ends. No shared folder is needed."""

from collections.abc import Mapping

import httpx

from solver.domain import WarpwrightError, digest_bytes

__all__ = ["TransferFailed", "download", "upload"]

SECONDS = 60.0


class TransferFailed(WarpwrightError):
    """A file could not be sent or did not arrive as it was sent."""

    code = "transfer-failed"


def upload(files: Mapping[str, bytes], service_url: str, token: str = "") -> dict[str, str]:
    """Send files to the service; their digests by name.

    Raises:
        TransferFailed: the service refused one or could not be reached.
    """
    digests: dict[str, str] = {}
    headers = {"content-type": "application/octet-stream"}
    if token:
        headers["authorization"] = f"Bearer {token}"
    with httpx.Client(base_url=service_url, timeout=SECONDS, headers=headers) as client:
        for name, data in files.items():
            digest = digest_bytes(data)
            try:
                client.put(f"/v1/artifacts/{digest}", content=data).raise_for_status()
            except httpx.HTTPError as error:
                raise TransferFailed(f"{name}: {error}") from error
            digests[name] = digest
    return digests


def download(digests: Mapping[str, str], service_url: str, token: str = "") -> dict[str, bytes]:
    """Files by name from their digests.

    Raises:
        TransferFailed: one could not be had, or its bytes do not match.
    """
    files: dict[str, bytes] = {}
    headers = {"authorization": f"Bearer {token}"} if token else {}
    with httpx.Client(base_url=service_url, timeout=SECONDS, headers=headers) as client:
        for name, digest in digests.items():
            try:
                answer = client.get(f"/v1/artifacts/{digest}")
                answer.raise_for_status()
            except httpx.HTTPError as error:
                raise TransferFailed(f"{name}: {error}") from error
            if digest_bytes(answer.content) != digest:
                raise TransferFailed(f"{name}: the bytes are not those of {digest}")
            files[name] = answer.content
    return files
