"""Machine code as counts. The lines are of a real listing (CUDA 13 tools, sm_90a)."""

from dataclasses import replace
from pathlib import Path

from warpwright.lowering.compile.honour import differences
from warpwright.lowering.compile.readback import read_back
from warpwright.lowering.compile.sass import disassemble, parse_sass
from warpwright.solver.domain import Pipeline, Role, WarpSchedule

LISTING = """
\tcode for sm_90a
\t\tFunction : gemm_kernel
        /*0930*/                   USETMAXREG.DEALLOC.CTAPOOL 0x18;                        /* 0x00000018000079c8 */
                                                                                           /* 0x000fc000080e0500 */
        /*0960*/                   USETMAXREG.DEALLOC.CTAPOOL 0x18 ;                       /* 0x00000018000079c8 */
        /*0a10*/              @P0  UTMALDG.2D [UR8], [UR4], desc[UR6] ;                    /* 0x00000806040075b4 */
        /*1430*/                   USETMAXREG.TRY_ALLOC.CTAPOOL UP0, 0xf0 ;                /* 0x000000f0000079c8 */
        /*1500*/                   HGMMA.64x128x16.F32.BF16 R24, gdesc[UR8], R24, gsb0 ;    /* 0x01e00000081879f0 */
        /*1510*/             @!UP1 STL [R1+0x4], R3 ;                                      /* 0x0000040301007387 */
        /*1520*/                   EXIT ;                                                  /* 0x000000000000794d */
"""

PLAN = WarpSchedule(12, (Role("consumer", 0, 8, 240), Role("load", 8, 9, 24)), (Pipeline("a_b", ("As", "Bs"), 3),), ())


def test_a_listing_is_counted() -> None:
    found = parse_sass(LISTING)
    assert found is not None
    assert found.register_requests == (24, 24, 240)
    assert (found.warpgroup_mma, found.other_mma) == (1, 0)
    assert (found.bulk_loads, found.bulk_stores, found.local_memory) == (1, 0, 1)
    assert found.instructions == 7


def test_a_listing_without_instructions_says_nothing() -> None:
    assert parse_sass("Fatbin elf code:\narch = sm_90a\n") is None


def test_requests_that_are_not_in_the_machine_code_are_not_honoured() -> None:
    found, source = parse_sass(LISTING), read_back("tl::wgmma_ss<")
    assert found is not None

    def machine_code(report: object) -> list[str]:
        gaps = differences(PLAN, source, None, report)  # type: ignore[arg-type]  # variations of one report
        return [gap.what for gap in gaps if "machine code" in gap.what or "tensor-core" in gap.what]

    assert machine_code(found) == []
    assert machine_code(replace(found, register_requests=())) == ["register requests in the machine code"]
    assert machine_code(replace(found, warpgroup_mma=0, other_mma=64)) == ["tensor-core instructions"]
    assert machine_code(None) == []


def test_a_disassembler_that_fails_says_nothing_about_the_binary(tmp_path: Path) -> None:
    tool = tmp_path / "cuobjdump"
    tool.write_text("#!/bin/sh\necho 'cuobjdump fatal : no nvdisasm'\nexit 1\n")
    tool.chmod(0o755)
    assert disassemble(tmp_path / "kernel.so", tool) is None
    assert disassemble(tmp_path / "kernel.so", tmp_path / "nowhere") is None
