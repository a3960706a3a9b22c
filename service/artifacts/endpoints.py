"""Artifacts over HTTP."""

from fastapi import APIRouter, Response

from service.artifacts.service import read
from service.bodies import StrictRoute
from service.context import ContextDep
from service.tokens.access import ReadCaller

router = APIRouter(prefix="/v1/artifacts", tags=["artifacts"], route_class=StrictRoute)


@router.get(
    "/{digest}",
    response_class=Response,
    responses={200: {"content": {"application/octet-stream": {}}, "description": "The bytes, verified."}},
)
def get_artifact(digest: str, context: ContextDep, caller: ReadCaller) -> Response:
    """The bytes of a digest, checked against it at every read."""
    found = read(context.database, context.store, digest)
    return Response(
        found.data,
        media_type=found.media_type,
        headers={
            "ETag": f'"{found.digest}"',
            "Cache-Control": "private, max-age=31536000, immutable",
            "X-Content-Type-Options": "nosniff",
            "Content-Disposition": "attachment",
        },
    )
