"""Form bodies, with the standard library: the dashboard's forms are short and url-encoded, so no multipart parser is needed."""

from typing import Annotated
from urllib.parse import parse_qs

from fastapi import Depends, Request

from warpwright.service.errors import BadRequest
from warpwright.service.strict_json import is_storable

__all__ = ["MAX_FIELDS", "Form", "FormDep"]

MAX_FIELDS = 10_000


class Form:
    """The fields of a submitted form."""

    def __init__(self, fields: dict[str, list[str]]) -> None:
        self._fields = fields

    def all(self, name: str) -> list[str]:
        """Every value of a field, in order."""
        return self._fields.get(name, [])

    def text(self, name: str, *, longest: int = 500) -> str:
        """A field's only value, stripped; empty if it was not sent.

        Raises:
            BadRequest: ``form-invalid`` if it is sent twice or is too long.
        """
        values = self.all(name)
        if len(values) > 1 or (values and len(values[0]) > longest):
            raise BadRequest(
                f"the field {name!r} must be sent once, with at most {longest} characters", code="form-invalid"
            )
        return values[0].strip() if values else ""

    def number(self, name: str) -> int:
        """A field as a whole number, 0 if it was not sent; BadRequest ``form-invalid`` for anything else."""
        text = self.text(name, longest=9) or "0"
        if not (text.isascii() and text.isdigit()):
            raise BadRequest(f"the field {name!r} must be a whole number", code="form-invalid")
        return int(text)


async def _form(request: Request) -> Form:
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise BadRequest("forms must be sent url-encoded", code="form-invalid")
    try:
        text = (await request.body()).decode("ascii")
        fields = parse_qs(text, keep_blank_values=True, max_num_fields=MAX_FIELDS, errors="strict")
    except ValueError as error:
        raise BadRequest(f"the form cannot be read: {error}", code="form-invalid") from error
    if not all(is_storable(value) for values in fields.values() for value in values):
        raise BadRequest("a field contains a NUL character", code="form-invalid")
    return Form(fields)


FormDep = Annotated[Form, Depends(_form)]
