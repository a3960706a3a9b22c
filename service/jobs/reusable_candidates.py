"""Candidates that need not be built again: from an earlier attempt of this job, or from another job with the same identity."""

from collections.abc import Sequence

from warpwright.service.artifacts.store import ArtifactStore
from warpwright.service.candidates import repository as candidate_rows
from warpwright.service.candidates.rows import candidate_of
from warpwright.service.db import Database, ReadSession
from warpwright.service.db.models import CandidateRow
from warpwright.service.errors import Gone, NotFound
from warpwright.solver.domain import Candidate, Outcome
from warpwright.tuning.toolchain import Identity

__all__ = ["KnownCandidates"]

REUSED = tuple(outcome for outcome in Outcome if outcome.built or outcome.remembered)
"""Outcomes to reuse: results, and the candidates' own failures. Infrastructure failures, and what was never tried,
are tried again.
"""


class KnownCandidates:
    """Looks candidates up by id, for one attempt of one job."""

    def __init__(
        self,
        database: Database,
        store: ArtifactStore,
        job_id: str,
        profile_digest: str,
        identity: Identity,
        build_options: str,
        *,
        other_jobs: bool = True,
    ) -> None:
        self._database = database
        self._store = store
        self._job_id = job_id
        self._columns = {
            "profile": profile_digest,
            "toolchain": identity.toolchain,
            "constraint_set": identity.constraint_set,
            "protocol": identity.protocol,
            "verification": identity.verification,
            "build_options": build_options,
        }
        self._other_jobs = other_jobs
        self.reused_from: dict[str, str] = {}

    def __call__(self, candidate: str) -> Candidate | None:
        """The candidate with its products' bytes, or None if it has to be built."""
        row, artifacts = self._database.read(lambda session: self._find(session, candidate))
        if row is None:
            return None
        products = self._products(artifacts)
        if products is None:
            return None
        if row.job_id != self._job_id:
            self.reused_from[candidate] = row.reused_from or row.job_id
        return candidate_of(row, products=products)

    def _find(self, session: ReadSession, candidate: str) -> tuple[CandidateRow | None, dict[str, str]]:
        rows: Sequence[CandidateRow] = candidate_rows.by_key(
            session, [candidate], self._columns, [outcome.value for outcome in REUSED]
        )
        own = [row for row in rows if row.job_id == self._job_id]
        # A measured row is preferred to a built one: a device may have been unavailable once.
        others = sorted(
            (row for row in rows if row.job_id != self._job_id), key=lambda row: row.outcome != Outcome.MEASURED.value
        )
        chosen = next(iter(own or (others if self._other_jobs else [])), None)
        return chosen, candidate_rows.artifacts(session, chosen.job_id, chosen.key) if chosen else {}

    def _products(self, artifacts: dict[str, str]) -> dict[str, bytes] | None:
        """The products' bytes; None if one is missing or damaged, which makes the whole candidate a miss."""
        products: dict[str, bytes] = {}
        for name, digest in artifacts.items():
            try:
                products[name] = self._store.get(digest)
            except (NotFound, Gone):
                return None
        return products
