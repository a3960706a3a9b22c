"""Database access: one engine, read and write sessions of different types, transactions that begin and end at the edge."""

from warpwright.service.db.database import DATABASE_AWAY, Database, DatabaseBusy
from warpwright.service.db.session import ReadSession, WriteSession

__all__ = ["DATABASE_AWAY", "Database", "DatabaseBusy", "ReadSession", "WriteSession"]
