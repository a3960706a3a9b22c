"""What the assembler prints, as typed values. Logs are of real runs, see ``warpwright.lowering.testing.toolchain``."""

import pytest

from warpwright.lowering.compile import ptxas
from warpwright.lowering.testing.toolchain import ASSEMBLER_LOGS
from warpwright.solver.domain import Fault, Outcome


def test_a_clean_report_is_read_whole() -> None:
    report = ptxas.parse(ASSEMBLER_LOGS["clean"])
    assert report is not None
    assert (report.registers, report.barriers, report.static_shared_bytes) == (168, 4, 1024)
    assert (report.spill_store_bytes, report.spill_load_bytes, report.stack_bytes) == (0, 0, 0)
    assert ptxas.details(report) == ()
    assert ptxas.architecture(ASSEMBLER_LOGS["clean"]) == "sm_90a"


def test_an_ignored_register_request_has_a_name() -> None:
    report = ptxas.parse(ASSEMBLER_LOGS["C7507"])
    assert report is not None
    assert [message.code for message in report.messages] == ["C7507"]
    assert ptxas.details(report) == ("register_request_ignored",)


def test_serialised_wgmma_and_spills_are_told_apart() -> None:
    report = ptxas.parse(ASSEMBLER_LOGS["C7511"])
    assert report is not None
    assert (report.spill_store_bytes, report.spill_load_bytes, report.stack_bytes) == (768, 656, 512)
    assert ptxas.details(report) == ("wgmma_serialized", "spills")


def test_too_few_launch_registers_say_how_many_are_needed() -> None:
    outcome = ptxas.failure(ASSEMBLER_LOGS["C7602"])
    assert outcome.kind is Outcome.OVER_RESOURCE
    assert (outcome.needed, outcome.limit) == (154, 128)
    assert "instruction_needs_registers" in outcome.details


def test_too_much_static_shared_memory_says_how_much() -> None:
    outcome = ptxas.failure(ASSEMBLER_LOGS["static_shared"])
    assert (outcome.kind, outcome.needed, outcome.limit) == (Outcome.OVER_RESOURCE, 0x10400, 0xC000)


@pytest.mark.parametrize(
    ("log", "words", "text"),
    [
        ("C7600", ("register_allocation_failed",), "255"),
        ("multiple_of_8", (), "multiple of 8"),
        ("host_error", (), "nonsense"),
    ],
)
def test_other_failures_keep_their_words(log: str, words: tuple[str, ...], text: str) -> None:
    outcome = ptxas.failure(ASSEMBLER_LOGS[log])
    assert outcome.kind is Outcome.COMPILE_FAILED
    assert outcome.details == words
    assert text in outcome.message
    assert outcome.kind.fault is Fault.CANDIDATE


def test_no_report_is_none_not_zero() -> None:
    assert ptxas.parse("nothing to see") is None
    assert ptxas.parse(ASSEMBLER_LOGS["C7602"]) is None


@pytest.mark.parametrize(
    ("code", "text", "word"),
    [
        (
            "C7504",
            "Potential Performance Loss: 'setmaxnreg' ignored to handle extern calls.",
            "register_request_ignored",
        ),
        ("C7508", "Potential Performance Loss: 'setmaxnreg' ignored; unable to determine.", "register_request_ignored"),
        ("C7509", "Potential Performance Loss: wgmma.mma_async instructions are serialized.", "wgmma_serialized"),
        ("C7510", "Potential Performance Loss: wgmma.mma_async instructions are serialized.", "wgmma_serialized"),
        ("C7599", "Potential Performance Loss: 'setmaxnreg' ignored for a new reason.", "register_request_ignored"),
        ("C7598", "Potential Performance Loss: wgmma.mma_async instructions are serialized again.", "wgmma_serialized"),
    ],
)
def test_a_lost_request_has_its_reason_by_number_or_by_text(code: str, text: str, word: str) -> None:
    report = ptxas.parse(f"ptxas info    : ({code}) {text}\n" + ASSEMBLER_LOGS["clean"])
    assert report is not None
    assert word in ptxas.details(report)


def test_a_message_that_says_nothing_of_a_schedule_is_kept_without_a_reason() -> None:
    report = ptxas.parse("ptxas info    : (C7597) Something else.\n" + ASSEMBLER_LOGS["clean"])
    assert report is not None
    assert [message.code for message in report.messages] == ["C7597"]
    assert ptxas.details(report) == ()
