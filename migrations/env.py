"""Alembic's environment: runs on the connection that ``warpwright.service.db.migrate`` hands over, inside its lock and
transaction.
"""

from typing import Any, Literal

from alembic import context
from alembic.autogenerate.api import AutogenContext
from sqlalchemy import JSON

import warpwright.service.db.models  # noqa: F401 - registers every table
from warpwright.service.db.base import Base, UtcTime
from warpwright.service.db.database import Database


def render_item(kind: str, item: Any, _context: AutogenContext) -> str | Literal[False]:
    """Write our column types as what they are in the database, so that old revisions never import new models."""
    if kind == "type" and isinstance(item, UtcTime):
        return "sa.DateTime(timezone=True)"
    if kind == "type" and isinstance(item, JSON):
        return "sa.JSON(none_as_null=True)"
    return False


def run(connection: Any) -> None:
    """Run the revisions on one connection."""
    context.configure(
        connection=connection,
        target_metadata=Base.metadata,
        render_item=render_item,
        compare_type=True,
        transactional_ddl=True,
        render_as_batch=connection.dialect.name == "sqlite",
    )
    context.run_migrations()


handed_over = context.config.attributes.get("connection")
if handed_over is not None:
    run(handed_over)
else:
    url = context.config.get_main_option("sqlalchemy.url")
    if not url:
        from warpwright.service.settings import Settings

        url = Settings.from_environment().url
    database = Database(url)
    with database.engine.execution_options(write=True).begin() as own:
        run(own)
    database.close()
