"""Artifacts over HTTP."""

from fastapi import APIRouter, Request, Response
from fastapi.concurrency import run_in_threadpool
from pydantic import BaseModel

from warpwright.service.app_context import ContextDep
from warpwright.service.artifacts.service import read, write
from warpwright.service.errors import UnsupportedMedia
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import ReadCaller, WorkCaller

router = APIRouter(prefix="/v1/artifacts", tags=["artifacts"], route_class=StrictRoute)

MEDIA_TYPE = "application/octet-stream"
BYTES = {"requestBody": {"required": True, "content": {MEDIA_TYPE: {"schema": {"type": "string"}}}}}


class ArtifactView(BaseModel):
    """A stored artifact."""

    digest: str
    bytes: int


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


@router.put("/{digest}", status_code=201, response_model=ArtifactView, openapi_extra=BYTES)
async def put_artifact(digest: str, request: Request, context: ContextDep, caller: WorkCaller) -> ArtifactView:
    """A worker's upload. Bytes that do not match the digest are refused; an existing artifact is not changed."""
    kind = request.headers.get("content-type", MEDIA_TYPE)
    if kind.partition(";")[0].strip().lower() != MEDIA_TYPE:
        raise UnsupportedMedia(f"artifacts are {MEDIA_TYPE}, not {kind[:100]}", place="Content-Type")
    data = await request.body()
    await run_in_threadpool(write, context.database, context.store, digest, data)
    return ArtifactView(digest=digest, bytes=len(data))
