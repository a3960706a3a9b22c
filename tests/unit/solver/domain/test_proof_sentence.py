"""The sentence of a proof: a qualifier for everything that the bound does not hold for."""

from dataclasses import replace

from warpwright.solver.domain import (
    Bound,
    Certificate,
    Choice,
    Covered,
    LeftOut,
    ProofScope,
    Why,
    dumps,
    loads,
    proof_sentence,
)

CERTIFICATE = Certificate(
    initiation_interval_cycles=3086,
    lower_bound=Bound(3086, "stream:consumer"),
    gap_cycles=0,
    schedule_length_cycles=5000,
    on_chip_bytes=65536,
    synchronisations=8,
    engine="cpsat",
    engine_version="1",
    seed=0,
    work=1,
    work_limit=1,
    constraint_set="cuda-warp/6",
    problem_digest="p",
    profile_digest="d",
    verified=True,
)
EVERYTHING = ProofScope("k", "128 x 128 x 64", (Covered(Choice.WIDTH, "2 consumer warpgroups"),))


def scoped(*choices: Covered, anywhere: Bound | None = None) -> Certificate:
    return replace(CERTIFICATE, scope=replace(EVERYTHING, choices=choices, anywhere=anywhere))


def narrow(choice: Choice, value: str, what: str, why: Why) -> Covered:
    return Covered(choice, value, every=False, over=(value,), left_out=(LeftOut(what, why),))


def test_a_bound_of_every_schedule_needs_no_qualifier() -> None:
    assert proof_sentence(scoped(*EVERYTHING.choices)) == "proven optimal"


def test_whatever_the_bound_does_not_hold_for_is_said() -> None:
    width = narrow(Choice.WIDTH, "2 consumer warpgroups", "other widths", Why.NOT_SEARCHED)
    placement = narrow(Choice.PLACEMENT, "loads in their own role", "other placements", Why.NOT_SEARCHED)
    said = proof_sentence(scoped(width, placement, anywhere=Bound(1024, "resource:tensor_core")))
    assert said == (
        "proven optimal among schedules of 2 consumer warpgroups, loads in their own role; "
        "every legal schedule has at least 1,024 cycles (resource:tensor_core)"
    )


def test_pins_and_budgets_are_named_as_such() -> None:
    pinned = narrow(Choice.WIDTH, "1 consumer warpgroup", "other widths", Why.PINNED)
    assert proof_sentence(scoped(pinned)) == "proven optimal among schedules of 1 consumer warpgroup (pinned)"
    cut = narrow(Choice.WIDTH, "2 consumer warpgroups", "4 consumer warpgroups", Why.BUDGET)
    assert proof_sentence(scoped(cut)).endswith("; not proven for 4 consumer warpgroups: budget")


def test_a_gap_is_no_proof() -> None:
    open_gap = replace(scoped(*EVERYTHING.choices), lower_bound=Bound(3000, "stream:consumer"), gap_cycles=86)
    assert proof_sentence(open_gap) == "gap 86 cycles"


def test_a_kernel_without_a_loop_has_nothing_that_is_optimal() -> None:
    empty = replace(CERTIFICATE, initiation_interval_cycles=None, lower_bound=Bound(0, "time:no loop"))
    assert proof_sentence(empty) == "nothing to schedule: no loop"


def test_an_older_certificate_is_not_called_optimal_without_a_qualifier() -> None:
    document = dumps(CERTIFICATE).replace(',"scope":null', "").replace('"sentence":"",', "")
    assert "sentence" not in document
    old = loads(Certificate, document)
    assert proof_sentence(old) == "proven optimal among schedules that were not recorded"


def test_a_scope_survives_its_json_form() -> None:
    certificate = scoped(narrow(Choice.WIDTH, "2 consumer warpgroups", "other widths", Why.PINNED))
    assert loads(Certificate, dumps(certificate)) == certificate
