"""Rows of kernels and of their known texts."""

from collections.abc import Mapping, Sequence

from sqlalchemy import select

from warpwright.service.db import ReadSession, WriteSession
from warpwright.service.db.models import Kernel, KernelText

__all__ = ["known_texts", "names", "page", "remember"]


def known_texts(session: ReadSession, digests: Sequence[str]) -> dict[str, str]:
    """Structural hashes of IR texts that were read before, by the digest of the text."""
    query = select(KernelText.digest, KernelText.ir_hash).where(KernelText.digest.in_(sorted(set(digests))))
    return {row.digest: row.ir_hash for row in session.rows(query)}


def remember(session: WriteSession, name: str, ir_hash: str, text_digest: str) -> None:
    """Record which kernel a text is."""
    session.insert_missing(Kernel, [{"ir_hash": ir_hash, "name": name[:200] or "kernel"}])
    session.insert_missing(KernelText, [{"digest": text_digest, "ir_hash": ir_hash}])


def page(session: ReadSession, limit: int, *, after: str | None = None, name: str | None = None) -> Sequence[Kernel]:
    """Up to ``limit`` kernels by hash."""
    query = select(Kernel).order_by(Kernel.ir_hash).limit(limit)
    if after is not None:
        query = query.where(Kernel.ir_hash > after)
    if name is not None:
        query = query.where(Kernel.name == name)
    return session.scalars(query).all()


def names(session: ReadSession, hashes: Sequence[str]) -> Mapping[str, str]:
    """Names of kernels by hash."""
    query = select(Kernel.ir_hash, Kernel.name).where(Kernel.ir_hash.in_(sorted(set(hashes))))
    return {row.ir_hash: row.name for row in session.rows(query)}
