"""Hardware profiles over HTTP."""

from fastapi import APIRouter, Response

from warpwright.service.app_context import ContextDep
from warpwright.service.db import WriteSession
from warpwright.service.page_parameters import DEFAULT_LIMIT, Cursor, Limit
from warpwright.service.pages import Page, decode_cursor, encode_cursor, page_of
from warpwright.service.profiles import repository
from warpwright.service.profiles import service as profiles
from warpwright.service.profiles.schemas import ProfileSummary, ProfileUpload, ProfileView
from warpwright.service.strict_route import StrictRoute
from warpwright.service.tokens.access import ReadCaller, TuneCaller

router = APIRouter(prefix="/v1/profiles", tags=["profiles"], route_class=StrictRoute)


@router.get("", response_model=Page[ProfileSummary])
def list_profiles(
    context: ContextDep, caller: ReadCaller, limit: Limit = DEFAULT_LIMIT, cursor: Cursor = None
) -> Page[ProfileSummary]:
    """All profiles by name."""
    after = None
    if cursor is not None:
        name, digest = decode_cursor(cursor, str, str)
        after = (str(name), str(digest))
    with context.database.reading() as session:
        rows, more = page_of(repository.page(session, limit + 1, after), limit)
        return Page(
            items=[ProfileSummary.model_validate(row) for row in rows],
            next=encode_cursor(rows[-1].name, rows[-1].digest) if more else None,
        )


@router.get("/{name}", response_model=ProfileView)
def get_profile(name: str, context: ContextDep, caller: ReadCaller) -> ProfileView:
    """One profile by name or digest, every number with unit, origin and source."""
    with context.database.reading() as session:
        return ProfileView.model_validate(profiles.find(session, name))


@router.post("", status_code=201, response_model=ProfileView, responses={200: {"model": ProfileView}})
def upload_profile(upload: ProfileUpload, response: Response, context: ContextDep, caller: TuneCaller) -> ProfileView:
    """Store a profile. Profiles are immutable: the same numbers are the same profile, other numbers are another one."""
    profile = profiles.parse(toml=upload.toml, document=upload.document)

    def work(session: WriteSession) -> tuple[bool, ProfileView]:
        created = repository.remember(session, profile, builtin=False)
        return created, ProfileView.model_validate(profiles.find(session, profile.digest))

    created, stored = context.database.write(work)
    if not created:
        response.status_code = 200
    return stored
