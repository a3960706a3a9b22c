"""The stand-in toolchain: its IR is a small JSON recipe that says what each step shall do, faults included.

It invents times and schedules, so nothing that it says is ever a measurement: its toolchain column reads ``stand-in 1``, and
a lookup for a real toolchain never finds its rows. Faults name candidates by their number among the proposals.
"""

import json
import math
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, replace
from typing import Any

from warpwright.lowering.compile.options import BuildOption
from warpwright.solver.domain import (
    ROOT,
    Bound,
    Candidate,
    CandidateKind,
    Certificate,
    Choice,
    Conflict,
    Covered,
    DocumentError,
    Failure,
    ForeignCode,
    HardwareProfile,
    Infeasible,
    Issue,
    KernelGraph,
    NotApplicable,
    Op,
    OpKind,
    OpRef,
    Outcome,
    PinError,
    Pins,
    Pipeline,
    ProofScope,
    Proposals,
    ProvenOptimal,
    RejectedStructure,
    Role,
    RoleBody,
    Schedule,
    Scope,
    ScopeKind,
    ScopeProgram,
    Sync,
    SyncKind,
    TargetFamily,
    Verdict,
    Violation,
    WarpSchedule,
    candidate_id,
    digest_text,
    dumps,
    proof_sentence,
)
from warpwright.tuning.children import Limits, Returned
from warpwright.tuning.errors import failed
from warpwright.tuning.request import TuneRequest
from warpwright.tuning.task_runner import TaskRunner
from warpwright.tuning.toolchain import (
    Built,
    Contestant,
    Identity,
    KernelRead,
    Materialized,
    Measurement,
    Patience,
    Solving,
    StepFailed,
)

__all__ = ["StandInToolchain", "new_ir", "stand_in_ir"]

BASELINE_NS = 100_000.0
CONFLICT = Conflict("shared_memory", "needs 300000 bytes, 232448 fit", "drop BK to 64", "As")


def stand_in_ir(
    name: str = "toy",
    *,
    schedules: int = 4,
    seconds: float = 0.0,
    salt: str = "",
    faults: Mapping[int | str, str] | None = None,
    refuse: str = "",
    infeasible: bool = False,
    better: float = 1.0,
    wrong: Sequence[int] = (),
    on_device: Mapping[str, Mapping[str, Any]] | None = None,
    traffic_bytes: int = 0,
    reading: float = 0.0,
    cost: str = "ns",
) -> str:
    """IR of the stand-in.

    ``seconds`` is the length of each step, ``faults`` gives outcomes by proposal number or kind (``hang`` never returns,
    ``orphan`` leaves a process behind, on a task runner),
    ``refuse`` is ``foreign-code``, ``threads-2d`` or ``not-applicable``, ``better`` scales
    invented times, ``salt`` makes another kernel of the same behaviour. ``wrong`` names proposals whose results are wrong.
    ``on_device`` scripts what kernels do on the simulated device (``lowering.testing.device``), by proposal number or kind.
    ``traffic_bytes`` is what the kernel moves through global memory at least, and so what its roofline floor follows from.
    ``reading`` is how long reading the kernel takes. ``cost`` is what forecasts are: ``ns``; ``cycles``, of which later proposals
    need fewer; or ``none``.
    """
    recipe = {
        "name": name,
        "schedules": schedules,
        "seconds": seconds,
        "salt": salt,
        "faults": {str(number): fault for number, fault in (faults or {}).items()},
        "refuse": refuse,
        "infeasible": infeasible,
        "better": better,
        "wrong": list(wrong),
        "traffic_bytes": traffic_bytes,
        "reading": reading,
        "cost": cost,
        "on_device": {name: dict(script) for name, script in (on_device or {}).items()},
    }
    return json.dumps({"stand_in": recipe}, sort_keys=True)


def new_ir(name: str = "toy", **recipe: Any) -> str:
    """As :func:`stand_in_ir`, for a new kernel."""
    return stand_in_ir(name, salt=uuid.uuid4().hex, **recipe)


def _cycles(number: int) -> int:
    """Cycles of a proposal, or of a baseline (-1): later proposals need fewer."""
    return 10_000 - 100 * number


def _recipe(ir: str) -> dict[str, Any]:
    try:
        document = json.loads(ir)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"the IR is not JSON: {error}", code="ir-not-json", place="/ir") from error
    recipe = document.get("stand_in") if isinstance(document, dict) else None
    if not isinstance(recipe, dict):
        raise DocumentError("the IR is not a PrimFunc", code="ir-not-primfunc", place="/ir")
    try:
        return json.loads(stand_in_ir(**{**recipe, "faults": recipe.get("faults", {})}))["stand_in"]  # type: ignore[no-any-return]  # a recipe is a JSON object
    except TypeError as error:
        raise DocumentError(f"the recipe is wrong: {error}", code="ir-invalid", place="/ir/stand_in") from error


class StandInToolchain:
    """Implements ``warpwright.tuning.toolchain.Toolchain``. ``version`` changes the toolchain column, to make results stale."""

    def __init__(self, version: str = "1", device: bool = False, runner: TaskRunner | None = None) -> None:
        self.version = version
        self.device = device
        self.runner = runner
        """If given, each compilation also runs a task in a child, so that children can be killed."""
        self.compiled: list[str] = []
        """Names of the candidates compiled, in order; lets tests count work that was really done."""

    def identity(self, profile: HardwareProfile) -> Identity:
        """Columns that cannot be mistaken for those of a real toolchain."""
        return Identity(f"stand-in {self.version}", "stand-in/1", "stand-in/1", "stand-in/1")

    def read(self, ir: str, profile: HardwareProfile, patience: Patience) -> KernelRead:
        """A graph of one operation."""
        recipe = _recipe(ir)
        _work(recipe["reading"], patience)
        refuse = recipe["refuse"]
        if refuse == "not-applicable":
            raise NotApplicable("an else branch", code="not-applicable", place="/body")
        if refuse == "foreign-code":
            raise ForeignCode("a call of 'evil'", code="foreign-code", place="/body")
        if refuse:
            raise DocumentError(f"refused as the recipe demands: {refuse}", code=refuse, place="/body")
        op = Op("copy_A", OpKind.COPY, ROOT, Issue.BLOCKING, 1, (), (), (), text=recipe["cost"])
        graph = KernelGraph(
            name=recipe["name"],
            family=TargetFamily.CUDA,
            arch=profile.arch,
            threads=128,
            grid=(1,),
            buffers=(),
            ops=(op,),
            scopes=(Scope(ROOT, ScopeKind.ROOT, None, 1, ("copy_A",)),),
            dependences=(),
            global_bytes=recipe["traffic_bytes"],
        )
        identity = {key: value for key, value in recipe.items() if key != "name"}
        return KernelRead(graph, "stand-in:" + digest_text(json.dumps([identity, ir_salt(ir)], sort_keys=True)))

    def propose(self, kernels: Mapping[int, KernelRead], request: TuneRequest, patience: Patience) -> Proposals:
        """As many schedules as the recipe says, each with one more warp than the one before."""
        candidates: list[Candidate] = []
        rejected: list[RejectedStructure] = []
        for variant in sorted(kernels):
            recipe = _recipe(request.variants[variant].ir)
            _work(recipe["seconds"], patience)
            timed = recipe["cost"] == "ns"
            if recipe["infeasible"]:
                rejected.append(RejectedStructure(variant, {"store": "no"}, (CONFLICT,)))
                continue
            for number in range(min(recipe["schedules"], request.budget.candidates)):
                schedule = _schedule(number)
                candidates.append(
                    Candidate(
                        id=candidate_id(kernels[variant].ir_hash, CandidateKind.SCHEDULED, schedule),
                        variant=variant,
                        kind=CandidateKind.SCHEDULED,
                        params=request.variants[variant].params,
                        schedule=schedule,
                        certificate=_certificate(request.profile, schedule),
                        status="proven_optimal",
                        forecast_ns=BASELINE_NS * recipe["better"] * (0.8 + 0.01 * number) if timed else None,
                        forecast_cycles=_cycles(number) if recipe["cost"] == "cycles" else None,
                        structure={"number": str(number)},
                    )
                )
        return Proposals(tuple(candidates), tuple(rejected), infeasible=len(rejected) == len(kernels))

    def solve(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, solving: Solving, patience: Patience
    ) -> Verdict:
        """The first schedule, proven."""
        if kernel.graph.name == "infeasible":
            return Infeasible((CONFLICT,), solving.engine)
        schedule = _schedule(0)
        return ProvenOptimal(schedule, _certificate(profile, schedule))

    def explain(
        self, kernel: KernelRead, profile: HardwareProfile, pins: Pins, why: str, patience: Patience
    ) -> Mapping[str, object]:
        """Everything is impossible for the same reason."""
        if not why.startswith(("pipelines.", "roles.")):
            raise PinError(f"there is nothing called {why[:80]!r}", code="why-unknown", place="/why")
        return {"why": why, "possible": False, "conflicts": [asdict(CONFLICT)]}

    def forecast(self, kernel: KernelRead, kind: CandidateKind, profile: HardwareProfile) -> float | None:
        """Baselines are all alike. The operation's text says whether forecasts are times."""
        return None if kernel.graph.ops[0].text in ("cycles", "none") else BASELINE_NS

    def verify(self, kernel: KernelRead, profile: HardwareProfile, schedule: Schedule) -> tuple[Violation, ...]:
        """Refuses more than 16 warps."""
        if isinstance(schedule, WarpSchedule) and schedule.num_warps > 16:
            return (Violation("warp_ranges", "too-many-warps", f"{schedule.num_warps} warps, 16 fit", "roles"),)
        return ()

    def materialize(self, ir: str, schedule: Schedule, profile: HardwareProfile, patience: Patience) -> Materialized:
        """The recipe and the schedule side by side."""
        written = json.dumps({**json.loads(ir), "schedule": json.loads(dumps(schedule))}, sort_keys=True)
        source = f"# stand-in schedule of {_warps(schedule)} warps\n"
        return Materialized(written, {"tilelang_source": source.encode()})

    def plain_source(
        self, ir: str, kind: CandidateKind, profile: HardwareProfile, patience: Patience, *, fenced: bool = False
    ) -> str:
        """A line that names the kernel."""
        return f"# stand-in kernel {_recipe(ir)['name']}, {kind.value}{', fenced' if fenced else ''}\n"

    def compile(
        self,
        ir: str,
        kind: CandidateKind,
        schedule: Schedule | None,
        profile: HardwareProfile,
        patience: Patience,
        build_options: Sequence[BuildOption] = (),
    ) -> Built:
        """Text in place of a binary, after the recipe's time, unless the recipe names a fault."""
        document = json.loads(ir)
        recipe = _recipe(json.dumps({"stand_in": document["stand_in"]}))
        number = _warps(schedule) - 4 if schedule is not None else -1
        if self.runner is not None:
            self._in_a_child(recipe["seconds"], patience)
        fault = recipe["faults"].get(str(number), "") or recipe["faults"].get(kind.value, "")
        _work(3600.0 if fault == "hang" else recipe["seconds"], patience)
        self.compiled.append(f"{kind.value}:{number}")
        if fault == "not_honoured":
            return Built({"registers": 168}, ("consumer registers: asked 240, got 168",), {})
        if fault == "raise":
            raise RuntimeError("the stand-in was asked to break")
        if fault:
            raise StepFailed(Outcome(fault), Failure(f"stand-in-{fault}", "as the recipe demands"))
        source = f"// {recipe['name']} {recipe['salt']} {kind.value} {number}\n"
        return Built(
            {
                "registers": 168,
                "spill_store_bytes": 0,
                "shared_bytes": 1024 * max(number, 0),
                "number": number,
                "options": list(build_options),
                "wrong": number in recipe["wrong"],
                **({"total_cycles": _cycles(number)} if recipe["cost"] == "cycles" else {}),
            },
            (),
            {"cuda_source": source.encode(), "binary": b"\x7fSTAND-IN" + source.encode()},
        )

    def announced(self, profile: HardwareProfile, deadline: float) -> AbstractContextManager[Callable[[], float]]:
        """Nobody else wants an invented device."""
        return nullcontext(lambda: math.inf)

    def measures(self, profile: HardwareProfile) -> bool:
        """Only when made with a device."""
        return self.device

    def measure(
        self, candidates: Sequence[Contestant], irs: Sequence[str], profile: HardwareProfile, patience: Patience
    ) -> Iterator[tuple[str, Measurement | StepFailed]]:
        """Invented times: the forecast's order with the first proposal the fastest."""
        for contestant in candidates:
            candidate = contestant.candidate
            recipe = _recipe(irs[candidate.variant])
            _work(recipe["seconds"], patience)
            number = candidate.report.get("number", -1)
            wrong = [size.name for size in contestant.sizes if size.candidate.report["wrong"]]
            if candidate.report.get("wrong") or wrong:
                message = f"C: relative error 1.0 (seed 11{''.join(f', at {name}' for name in wrong[:1])})"
                yield candidate.id, StepFailed(Outcome.WRONG_RESULT, Failure("wrong-result", message))
                continue
            factor = 0.8 + 0.01 * number if isinstance(number, int) and number >= 0 else 1.0
            time_ns = BASELINE_NS * recipe["better"] * factor
            yield candidate.id, Measurement(time_ns, {"spread_ns": 10.0, "repeats": 20, "invented": True})

    def available(self) -> bool:
        """Always."""
        return True

    def missing(self, capabilities: Sequence[str]) -> tuple[str, ...]:
        """None."""
        return ()

    def close(self) -> None:
        """End the children, where there are any."""
        if self.runner is not None:
            self.runner.close()

    def _in_a_child(self, seconds: float, patience: Patience) -> None:
        assert self.runner is not None
        limits = Limits(wall_seconds=max(0.5, patience.left))
        answer = self.runner.run("stand_in.step", {"seconds": seconds}, limits, cancel=patience.stop.event)
        if not isinstance(answer.reply, Returned):
            raise failed(answer.reply, "compile")


def ir_salt(ir: str) -> str:
    """The part of a recipe that makes it another kernel."""
    return str(_recipe(ir)["salt"])


def _schedule(number: int) -> WarpSchedule:
    warps = 4 + number
    sync = (Sync(SyncKind.PRODUCER_ACQUIRE, "a"), OpRef("copy_A"), Sync(SyncKind.PRODUCER_COMMIT, "a"))
    return WarpSchedule(
        num_warps=warps,
        roles=(Role("consumer", 0, warps),),
        pipelines=(Pipeline("a", ("A",), 2),),
        scopes=(ScopeProgram(ROOT, (RoleBody("consumer", sync),)),),
    )


def _certificate(profile: HardwareProfile, schedule: Schedule) -> Certificate:
    made = Certificate(
        initiation_interval_cycles=100,
        lower_bound=Bound(100, "resource:tensor_core"),
        gap_cycles=0,
        schedule_length_cycles=400,
        on_chip_bytes=65536,
        synchronisations=2,
        engine="stand-in",
        engine_version="1",
        seed=0,
        work=1,
        work_limit=1,
        constraint_set="stand-in/1",
        problem_digest=digest_text(dumps(schedule)),
        profile_digest=profile.digest,
        verified=True,
        binding=("tensor_core",),
        scope=ProofScope("k", "128 x 128 x 64", (Covered(Choice.WIDTH, f"{_warps(schedule)} consumer warps"),)),
    )
    return replace(made, sentence=proof_sentence(made))


def _warps(schedule: Schedule) -> int:
    return schedule.num_warps if isinstance(schedule, WarpSchedule) else 0


def _work(seconds: float, patience: Patience) -> None:
    """Sleep as long as the step takes, and end like a killed child when its time limit is over or it is stopped."""
    limit = min(seconds, patience.left)
    started = time.monotonic()
    if limit > 0 and patience.stop.event.wait(limit):
        raise StepFailed(Outcome.SKIPPED, Failure("stopped", f"stopped: {patience.stop.reason}"))
    if limit < seconds:
        spent = time.monotonic() - started
        raise StepFailed(Outcome.TIMED_OUT, Failure("timed-out", f"killed after {spent:.1f} s"))
