"""Reading artifacts, verified; a damaged one counts as a miss and is marked."""

from dataclasses import dataclass

from warpwright.service.artifacts import repository
from warpwright.service.artifacts.store import ArtifactDamaged, ArtifactStore
from warpwright.service.db import Database
from warpwright.service.errors import InvalidRequest, NotFound
from warpwright.service.names import check_digest
from warpwright.solver.domain import digest_bytes

__all__ = ["StoredArtifact", "read", "write"]


@dataclass(frozen=True, slots=True)
class StoredArtifact:
    """Verified bytes and their media type."""

    digest: str
    media_type: str
    data: bytes


def read(database: Database, store: ArtifactStore, digest: str) -> StoredArtifact:
    """The artifact of a digest.

    Raises:
        NotFound: ``artifact-unknown``. ArtifactDamaged: its bytes changed; the row is marked and the file moved to quarantine.
    """
    check_digest(digest)
    row = database.read(lambda session: repository.get(session, digest))
    if row is None:
        raise NotFound(f"there is no artifact {digest}", code="artifact-unknown")
    try:
        return StoredArtifact(digest, row.media_type, store.get(digest))
    except ArtifactDamaged:
        database.write(lambda session: repository.quarantine(session, digest))
        raise


def write(database: Database, store: ArtifactStore, digest: str, data: bytes) -> None:
    """Store uploaded bytes under the digest that the request names.

    Raises:
        InvalidRequest: ``digest-mismatch``; nothing is stored.
    """
    check_digest(digest)
    if digest_bytes(data) != digest:
        raise InvalidRequest("the bytes do not have this digest", code="digest-mismatch", place="/digest")
    store.put(data)
    database.write(lambda session: repository.record(session, [(digest, "application/octet-stream", len(data))]))
