"""Tables as CSV. Cells that a spreadsheet would take for a formula are quoted with an apostrophe."""

import csv
import io
from collections.abc import Iterable, Sequence

from fastapi.responses import Response

__all__ = ["csv_response"]

FORMULA = ("=", "+", "-", "@", "\t", "\r")


def csv_response(columns: Sequence[str], rows: Iterable[Sequence[object]], name: str) -> Response:
    """A download with a header line; None becomes an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(columns)
    writer.writerows([_cell(value) for value in row] for row in rows)
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(text.getvalue(), media_type="text/csv; charset=utf-8", headers=headers)


def _cell(value: object) -> object:
    if isinstance(value, str) and value.startswith(FORMULA):
        return "'" + value
    return "" if value is None else value
