"""Templates, their filters, and the assets. Autoescape is on for every template: names come from clients."""

import hashlib
import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import cache
from importlib.resources import files
from pathlib import Path

from fastapi import Request
from fastapi.responses import HTMLResponse
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from starlette.staticfiles import StaticFiles

from warpwright.service.candidates.sentences import agreement, proof_line, registers_of, structure_words
from warpwright.service.tokens.access import COOKIE
from warpwright.tuning.partial_reasons import words_of

__all__ = ["is_fragment", "page", "render", "static_files"]

STATIC = Path(__file__).parent / "static"
DRAWING = ("warpwright.service.drawing", "static")
"""Folders of the assets; the palette and the timelines' script are part of the drawing package."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
"""Content Security Policy: scripts only from the dashboard's own assets. Charts set inline styles, hence that one exception."""

static_files = StaticFiles(directory=STATIC, packages=[DRAWING])


def page(request: Request, template: str, *, status: int = 200, **values: object) -> HTMLResponse:
    """A page, with headers that prevent it from running foreign scripts."""
    text = render(template, path=request.url.path, signed_in=COOKIE in request.cookies, **values)
    headers = {
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "same-origin",
        "Cache-Control": "no-store",
        "Vary": "HX-Request",
    }
    return HTMLResponse(text, status, headers)


def is_fragment(request: Request) -> bool:
    """Whether htmx requested a part of a page; without scripts the same address gives a whole page."""
    return request.headers.get("hx-request") == "true"


def render(template: str, **values: object) -> str:
    """A template as text. With ``offline=True`` as one file that needs no server: assets included, no links to pages."""
    given = {
        "asset": _asset,
        "inline": inline,
        "policy": file_policy,
        "now": datetime.now(UTC),
        "offline": False,
        "signed_in": False,
    }
    return _environment().get_template(template).render(given | values)


@cache
def inline(name: str) -> Markup:
    """An asset's text, to be included in a page; no asset contains text that would end the element."""
    return Markup(_path(name).read_text("utf-8"))


def file_policy(scripts: Sequence[str]) -> str:
    """Content Security Policy of a page that is one file: only these scripts, by digest, and no requests."""
    digests = (b64encode(hashlib.sha256(inline(name).encode()).digest()).decode() for name in scripts)
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests)
    rest = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {allowed}; {rest}"


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("warpwright.service.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "us": _microseconds,
        "ago": _ago,
        "number": _number,
        "words": _words,
        "script_json": _script_json,
        "lasted": _lasted,
        "pairs": _pairs,
        "structure": structure_words,
        "reason": words_of,
        "registers": registers_of,
        "agreement": agreement,
        "proof": proof_line,
        "pretty": _pretty,
    }
    return environment


@cache
def _asset(name: str) -> str:
    """Path of an asset with a digest of its content, so that a browser never uses an old one."""
    return f"/static/{name}?v={hashlib.sha256(_path(name).read_bytes()).hexdigest()[:10]}"


def _path(name: str) -> Path:
    own = STATIC / name
    return own if own.exists() else Path(str(files(DRAWING[0]).joinpath(DRAWING[1], name)))


def _microseconds(nanoseconds: float | None) -> str:
    return "–" if nanoseconds is None else f"{nanoseconds / 1000:,.2f}"


def _number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:,.{digits}f}"


def _words(value: str | None) -> str:
    return (value or "").replace("_", " ")


def _pairs(values: Mapping[str, object]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())


def _pretty(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, default=str)


def _ago(moment: datetime | None) -> str:
    return "–" if moment is None else f"{_span((datetime.now(UTC) - _aware(moment)).total_seconds())} ago"


def _lasted(start: datetime | None, end: datetime | None) -> str:
    if start is None:
        return "–"
    return _span(((_aware(end) if end else datetime.now(UTC)) - _aware(start)).total_seconds())


def _aware(moment: datetime) -> datetime:
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _span(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def _script_json(value: object) -> Markup:
    """JSON that is safe inside a ``<script type="application/json">`` element, whatever names it contains."""
    text = json.dumps(value, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return Markup(text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026"))
