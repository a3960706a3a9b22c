"""A running service with jobs of every kind in it: measured, with losses, infeasible, with a hostile name, drawn."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import get_type_hints

import pytest
from axe_playwright_python.sync_playwright import Axe
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright

from benchmarks.kernels.graphs import gemm_graph
from benchmarks.ranking import schedule_of
from tests.acceptance.service.jobs_over_http import finished
from warpwright.service.dashboard import router
from warpwright.service.settings import Settings
from warpwright.service.testing import StandInToolchain, new_ir
from warpwright.service.testing.running import RunningService
from warpwright.solver.domain import (
    Candidate,
    Failure,
    HardwareProfile,
    KernelGraph,
    Outcome,
    Proposals,
    WarpSchedule,
    candidate_id,
)
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.toolchain import KernelRead, Patience, StepFailed

HOSTILE = '<script>document.title="owned"</script>\'"&'
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
SWITCHES = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-sync"]
LOOSE = {"region"}
"""Axe's ``region`` rule counts the skip link as content outside a landmark; best practice, not WCAG."""
DRAWN, BROKEN = "drawn", "broken"


def plain_pages() -> list[str]:
    """Paths of the pages that need nothing: a new page is among them by its route."""
    pages = (route for route in router.routes if isinstance(route, APIRoute) and "GET" in (route.methods or ()))
    return [
        route.path
        for route in pages
        if get_type_hints(route.endpoint)["return"] is HTMLResponse
        and not route.param_convertors
        and not any(parameter.field_info.is_required() for parameter in route.dependant.query_params)
    ]


PAGES = plain_pages()


class DrawingToolchain(StandInToolchain):
    """The stand-in, but the kernel named ``drawn`` has the graph and the schedules of a real GEMM: something to draw."""

    def read(self, ir: str, profile: HardwareProfile, patience: Patience) -> KernelRead:
        """The graph of a GEMM for the kernel named ``drawn``."""
        kernel = super().read(ir, profile, patience)
        return replace(kernel, graph=_gemm()) if kernel.graph.name == DRAWN else kernel

    def propose(self, kernels: Mapping[int, KernelRead], request: TuneRequest, patience: Patience) -> Proposals:
        """The stand-in's proposals with pipelines of growing depth; the kernel named ``broken`` breaks the solver."""
        if any(kernel.graph.name == BROKEN for kernel in kernels.values()):
            raise StepFailed(Outcome.CRASHED, Failure("solver-crashed", "the solver ended by signal 11"))
        proposals = super().propose(kernels, request, patience)
        return replace(
            proposals,
            candidates=tuple(
                _with(each, kernels[each.variant], schedule_of(_gemm(), 2 + number, 2, 24, 240))
                if kernels[each.variant].graph.ops[0].id != "copy_A"
                else each
                for number, each in enumerate(proposals.candidates)
            ),
        )


def _with(candidate: Candidate, kernel: KernelRead, schedule: WarpSchedule) -> Candidate:
    return replace(candidate, id=candidate_id(kernel.ir_hash, candidate.kind, schedule), schedule=schedule)


def _gemm() -> KernelGraph:
    graph = gemm_graph(4096, 4096, 4096, 128, 128, 64, 3, 2)
    return replace(graph, flops=2 * 4096**3, global_bytes=3 * 2 * 4096**2)


@dataclass(frozen=True)
class Shown:
    """The service and the ids of its jobs."""

    service: RunningService
    measured: str
    lossy: str
    impossible: str
    hostile: str
    drawn: str
    failed: str


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shown]:
    settings = Settings(data=tmp_path_factory.mktemp("dashboard"), slow_artifact_sync=False, poll_seconds=0.1)
    with RunningService(settings, toolchain=DrawingToolchain(device=True)) as running:

        def job(ir: str, name: str, *others: str) -> str:
            variants = [{"ir": each, "params": {"BK": 64 // n}} for n, each in enumerate((ir, *others), 1)]
            kernel = {"variants": variants} if others else {"ir": ir}
            answer = running.client.post("/v1/jobs", json={**kernel, "profile": "h200", "name": name})
            assert answer.status_code == 202, answer.text
            done = finished(running.client, answer.json()["id"])
            return str(done["id"])

        yield Shown(
            running,
            measured=job(new_ir(schedules=6), "gemm_bias_relu"),
            lossy=job(new_ir(schedules=6, faults={1: "not_honoured", 2: "over_resource"}), "attention_forward"),
            impossible=job(new_ir(infeasible=True), "too_large", new_ir(infeasible=True)),
            hostile=job(new_ir(schedules=2, faults={1: "compile_failed"}), HOSTILE),
            drawn=job(new_ir(DRAWN, schedules=3), "gemm_drawn"),
            failed=job(new_ir(BROKEN), "breaks"),
        )


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield launched
        launched.close()


@pytest.fixture
def opened(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages in contexts of their own; at the end nobody may have complained on the console."""
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    def note(message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            complaints.append(message.text)

    def open_page(scheme: str = "light", width: int = 1280, **options: object) -> Page:
        context = browser.new_context(color_scheme=scheme, viewport={"width": width, "height": 900}, **options)  # type: ignore[arg-type]  # Playwright's own options by name
        contexts.append(context)
        page = context.new_page()
        page.on("console", note)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


@pytest.fixture(params=["light", "dark"])
def page(request: pytest.FixtureRequest, opened: Callable[..., Page]) -> Page:
    return opened(request.param)


def accessible(page: Page, name: str) -> None:
    """Axe finds nothing on the page."""
    found = Axe().run(page).response["violations"]
    assert [(v["id"], [n["html"][:120] for n in v["nodes"]]) for v in found if v["id"] not in LOOSE] == [], name


def keep(page: Page, name: str) -> None:
    """A screenshot under ``$WARPWRIGHT_TEST_SCREENSHOTS`` when it is set: a test artifact."""
    if folder := os.environ.get("WARPWRIGHT_TEST_SCREENSHOTS"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)
