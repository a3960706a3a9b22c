"""Schedules written by hand for the examples and the corpus, and the plainest one for any kernel."""

from warpwright.solver.domain import (
    ROOT,
    Instruction,
    KernelGraph,
    OpRef,
    Pipeline,
    Role,
    RoleBody,
    ScopeProgram,
    Sync,
    SyncKind,
    WarpSchedule,
)


def body(*entries: str) -> tuple[Instruction, ...]:
    """Instructions from short text: ``acquire ab``, ``wait ab@1``, anything else is an operation's id."""
    kinds = {
        "acquire": SyncKind.PRODUCER_ACQUIRE,
        "commit": SyncKind.PRODUCER_COMMIT,
        "wait": SyncKind.CONSUMER_WAIT,
        "release": SyncKind.CONSUMER_RELEASE,
    }
    instructions: list[Instruction] = []
    for entry in entries:
        word, _, rest = entry.partition(" ")
        if rest:
            pipeline, _, stage = rest.partition("@")
            instructions.append(Sync(kinds[word], pipeline, int(stage or 0)))
        else:
            instructions.append(OpRef(entry))
    return tuple(instructions)


def program(scope: str, **bodies: tuple[Instruction, ...]) -> ScopeProgram:
    return ScopeProgram(scope, tuple(RoleBody(role, instructions) for role, instructions in bodies.items()))


ROLES = (Role("consumer", 0, 8, 240), Role("load", 8, 9, 24))

GEMM = WarpSchedule(
    num_warps=12,
    roles=ROLES,
    pipelines=(Pipeline("as_bs", ("As", "Bs"), 3),),
    scopes=(
        program(
            ROOT,
            consumer=body("fill_acc", "k", "copy_bias_local", "compute_acc", "copy_Cs", "store_C"),
            load=body("k"),
        ),
        program(
            "k",
            load=body("acquire as_bs", "copy_As", "copy_Bs", "commit as_bs"),
            consumer=body("wait as_bs", "gemm_acc", "release as_bs"),
        ),
    ),
)

_SOFTMAX = (
    *("copy_row_max_prev", "reduce_row_max", "compute_rescale", "compute_scores", "reduce_row_sum"),
    *("compute_denominator",),
)

ATTENTION = WarpSchedule(
    num_warps=16,
    roles=(*ROLES, Role("store", 12, 13, 24)),
    pipelines=(
        Pipeline("qs", ("Qs",), 1),
        Pipeline("ks", ("Ks",), 2),
        Pipeline("vs", ("Vs",), 2),
        Pipeline("os", ("Os",), 1),
    ),
    scopes=(
        program(
            ROOT,
            consumer=body(
                *("fill_acc", "fill_denominator", "fill_row_max", "wait qs", "k", "release qs"),
                *("compute_denominator_2", "compute_acc_2"),
                *("acquire os", "copy_Os", "commit os"),
            ),
            load=body("acquire qs", "copy_Qs", "commit qs", "k"),
            store=body("wait os", "store_O", "release os"),
        ),
        program(
            "k",
            load=body("acquire ks", "copy_Ks", "commit ks", "acquire vs", "copy_Vs", "commit vs"),
            consumer=body(
                *("wait ks", "gemm_scores", "release ks", *_SOFTMAX, "copy_probs", "compute_acc"),
                *("wait vs", "gemm_acc", "release vs"),
            ),
        ),
    ),
)
"""Three roles, pipelines in the root and in the loop, nothing software-pipelined."""

ATTENTION_PIPELINED = WarpSchedule(
    num_warps=12,
    roles=ROLES,
    pipelines=(Pipeline("qs", ("Qs",), 1), Pipeline("ks", ("Ks",), 2), Pipeline("vs", ("Vs",), 2)),
    scopes=(
        program(
            ROOT,
            consumer=body(
                *("fill_acc", "fill_denominator", "fill_row_max", "wait qs", "k", "release qs"),
                *("compute_denominator_2", "compute_acc_2", "copy_Os", "store_O"),
            ),
            load=body("acquire qs", "copy_Qs", "commit qs", "k"),
        ),
        program(
            "k",
            load=body("acquire ks", "copy_Ks", "commit ks", "acquire vs", "copy_Vs", "commit vs"),
            consumer=body(
                *("wait ks", "gemm_scores", "release ks"),
                *("wait vs@1", "gemm_acc", "release vs@1"),
                *(*_SOFTMAX, "copy_probs", "compute_acc"),
            ),
        ),
    ),
)
"""The second product runs one iteration behind the first: stages in one role's body."""

_BEGIN = (*("set_buffer", "set_buffer_2", "bind_linear_idx", "bind_m", "bind_n", "set_buffer_3", "set_buffer_4"),)
_NEXT = ("set_buffer_5", "set_buffer_6", "bind_linear_idx_2", "bind_m_2", "bind_n_2", "set_buffer_7", "set_buffer_8")

PERSISTENT = WarpSchedule(
    num_warps=16,
    roles=(*ROLES, Role("store", 12, 13, 24)),
    pipelines=(Pipeline("as_bs", ("As", "Bs"), 3), Pipeline("cs", ("Cs",), 2)),
    scopes=(
        program(
            ROOT,
            consumer=body(*_BEGIN, "loop"),
            load=body(*_BEGIN, "loop"),
            store=body(*_BEGIN, "loop"),
        ),
        program(
            "loop",
            consumer=body("fill_acc", "ko", "acquire cs", "copy_Cs", "commit cs", *_NEXT),
            load=body("ko", *_NEXT),
            store=body("wait cs", "store_C", "release cs", *_NEXT),
        ),
        program(
            "ko",
            load=body("acquire as_bs", "copy_As", "copy_Bs", "commit as_bs"),
            consumer=body("wait as_bs", "gemm_acc", "release as_bs"),
        ),
    ),
)
"""A persistent ``while`` scope with a loop in it, and a role that stores."""


def one_role(graph: KernelGraph) -> WarpSchedule:
    """Everything in source order by all the kernel's warps: legal for every kernel, faster for none."""
    warps = -(-graph.threads // 128) * 4
    scopes = tuple(
        program(scope.id, all=tuple(OpRef(item) for item in scope.items)) for scope in graph.scopes if scope.items
    )
    return WarpSchedule(warps, (Role("all", 0, warps),), (), scopes)
