"""Base of the ORM models: explicit names for every constraint, and column types that mean the same on both databases."""

from datetime import UTC, datetime
from typing import Any

from sqlalchemy import JSON, DateTime, MetaData
from sqlalchemy.engine import Dialect
from sqlalchemy.orm import DeclarativeBase
from sqlalchemy.types import TypeDecorator

__all__ = ["Base", "JsonColumn", "UtcTime", "now"]

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s_%(referred_table_name)s",
    "pk": "pk_%(table_name)s",
}
"""Migrations refer to constraints by name, so the names must not depend on the database's own convention."""

JsonColumn = JSON(none_as_null=True)
"""Text that keeps its key order; nothing is searched inside, so PostgreSQL's binary form would have no advantage."""


def now() -> datetime:
    """The current time, in UTC."""
    return datetime.now(UTC)


class UtcTime(TypeDecorator[datetime]):
    """A point in time, always with a time zone in Python. SQLite has no time zones, so it is stored in UTC and restored."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """To UTC; a naive time is a programming error."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise ValueError("a time without a time zone reached the database")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """From the database, in UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class Base(DeclarativeBase):
    """Declarative base with the naming convention."""

    metadata = MetaData(naming_convention=NAMING)
    type_annotation_map = {datetime: UtcTime(), dict[str, Any]: JsonColumn, list[Any]: JsonColumn}  # noqa: RUF012
