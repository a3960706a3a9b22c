"""Read and write sessions as different types: a function that takes a :class:`ReadSession` cannot write by accident.

Neither has a public commit. Transactions begin and end in :class:`warpwright.service.db.database.Database` only;
repositories get a
session and never see its end.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar, TypeVarTuple, cast

from sqlalchemy import Executable, Result, Row, ScalarResult, Select, Table
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from warpwright.service.db.base import Base

__all__ = ["ReadSession", "WriteSession"]

RecordT = TypeVar("RecordT")
ColumnTs = TypeVarTuple("ColumnTs")


class ReadSession:
    """Queries only, in one consistent snapshot."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def scalar(self, query: Select[*tuple[Any, ...]]) -> Any:
        """First column of the first row, or None."""
        return self._session.scalar(query)

    def scalars(self, query: Select[RecordT]) -> ScalarResult[RecordT]:
        """First column of all rows."""
        return self._session.scalars(query)

    def rows(self, query: Select[*ColumnTs]) -> Sequence[Row[*ColumnTs]]:
        """All rows of a query; the query itself must limit their number."""
        return self._session.execute(query).all()

    def get(self, model: type[RecordT], key: Any) -> RecordT | None:
        """The record with this primary key, or None."""
        return self._session.get(model, key)


class WriteSession(ReadSession):
    """Reads and writes; on SQLite the write lock was taken before the first read."""

    def add(self, record: object) -> None:
        """Stage a new record."""
        self._session.add(record)

    def add_all(self, records: Iterable[object]) -> None:
        """Stage new records."""
        self._session.add_all(records)

    def delete(self, record: object) -> None:
        """Stage the removal of a record."""
        self._session.delete(record)

    def execute(self, statement: Executable, parameters: Any = None) -> Result[*tuple[Any, ...]]:
        """Run an INSERT, UPDATE or DELETE."""
        return self._session.execute(statement, parameters)

    def insert_missing(self, model: type[Base], rows: Sequence[Mapping[str, Any]]) -> int:
        """Insert the rows whose key does not exist yet; returns how many were new."""
        if not rows:
            return 0
        sqlite = self._session.get_bind().dialect.name == "sqlite"
        table = cast(Table, model.__table__)
        statement = (sqlite_insert if sqlite else postgresql_insert)(table).values(list(rows))
        # Counted by the returned rows: drivers do not agree on the row count of such a statement.
        inserted = statement.on_conflict_do_nothing().returning(*table.primary_key.columns)
        return len(self._session.execute(inserted).all())

    def refresh(self, record: object) -> None:
        """Read a record again, after a statement changed its row."""
        self._session.refresh(record)

    def flush(self) -> None:
        """Send staged changes, so that constraints are checked now; not a commit."""
        self._session.flush()
