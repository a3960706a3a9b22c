"""Operators and annotation keys that an IR document may use, by what the frontend does with them.

Everything that is not in these lists is foreign code: it is refused, whatever it would do. The names are
those of TileLang 0.1.15's operator registry.
"""

__all__ = [
    "ALLOWED_OPERATORS",
    "ANNOTATION_KEYS",
    "ATOMIC_PREFIXES",
    "ATTRIBUTE_KEYS",
    "COPIES",
    "FOREIGN_KEYS",
    "FUNCTION_ATTRIBUTES",
    "GEMMS",
    "INEXPRESSIBLE_OPERATORS",
    "SFU_RESULTS",
    "TILE_OPERATORS",
    "operator_verdict",
]

COPIES = frozenset({"tl.tileop.copy", "tl.tileop.async_copy", "tl.tileop.tma_copy", "tl.tileop.transpose"})
GEMMS = frozenset({"tl.tileop.gemm", "tl.tileop.wgmma_gemm", "tl.tileop.tcgen05_gemm"})
_OTHER_TILE = frozenset({"tl.tileop.fill", "tl.tileop.reduce", "tl.tileop.cumsum", "tl.tileop.cummax"})
TILE_OPERATORS = COPIES | GEMMS | _OTHER_TILE

SFU_RESULTS: dict[str, int] = {
    **dict.fromkeys(["tirx.exp2", "tirx.log2", "tirx.rsqrt", "tirx.sqrt", "tirx.exp", "tirx.log", "tirx.exp10"], 1),
    **dict.fromkeys(["tirx.log10", "tl.__exp", "tl.__log", "tl.__log2", "tl.__log10", "tl.__exp10"], 1),
    **dict.fromkeys(["tl.__sin", "tl.__cos", "tl.fast_rcp", "tl.ieee_frsqrt", "tl.ieee_fsqrt", "tl.ieee_frcp"], 1),
    **dict.fromkeys(["tirx.sigmoid", "tirx.tanh", "tl.__tan", "tl.ieee_fdiv", "tirx.sin", "tirx.cos", "tirx.log1p"], 2),
    **dict.fromkeys(["tirx.pow", "tirx.tan", "tirx.sinh", "tirx.cosh", "tirx.erf", "tirx.hypot"], 2),
    **dict.fromkeys(["tirx.asin", "tirx.acos", "tirx.atan", "tirx.atan2", "tirx.asinh", "tirx.acosh", "tirx.atanh"], 2),
}
"""Results of the special-function unit that one call needs: ``ex2``, ``lg2``, ``rsq``, ``rcp`` and what is built on them."""

_ARITHMETIC = frozenset(
    {f"tirx.{name}" for name in ["fabs", "floor", "ceil", "round", "trunc", "nearbyint", "fma", "fmod", "copysign"]}
    | {f"tirx.{name}" for name in ["nextafter", "ldexp", "isnan", "isinf", "isfinite", "popcount", "clz", "dp4a"]}
    | {f"tirx.bitwise_{name}" for name in ["and", "or", "xor", "not"]}
    | {f"tirx.{name}" for name in ["shift_left", "shift_right", "if_then_else", "likely", "reinterpret", "assume"]}
    | {f"tirx.{name}" for name in ["large_uint_imm", "q_multiply_shift", "tvm_tuple", "undef", "type_annotation"]}
    | {
        f"tl.{name}"
        for name in ["clamp", "fma", "fmul", "pow_of_int", "infinity", "max_nan", "min_nan", "conflict_hint"]
    }
    | {f"tl.{name}{width}" for name in ["abs", "add", "sub", "mul", "max", "min", "fma"] for width in ["2", "2_nan"]}
    | {f"tl.ieee_{name}" for name in ["add", "sub", "mul", "fmaf"]}
    | {f"tl.{name}" for name in ["round_ties_away_from_zero", "pack_b16", "pack_b8x4", "__ldg", "__ffs", "__fns"]}
)
_STRUCTURE = frozenset({"tl.region", "tl.access_ptr", "tl.launch_thread_idx", "tl.wait_wgmma"})
_VOTES = frozenset(
    {"tl.all_sync", "tl.any_sync", "tl.all_of", "tl.any_of", "tl.ballot", "tl.ballot_sync", "tl.activemask"}
)

ALLOWED_OPERATORS = TILE_OPERATORS | frozenset(SFU_RESULTS) | _ARITHMETIC | _STRUCTURE | _VOTES

ATOMIC_PREFIXES = ("tl.atomic_", "tl.tileop.atomic", "tirx.atomic_add")

INEXPRESSIBLE_OPERATORS: dict[str, tuple[str, ...]] = {
    "hand-written-barrier": (
        *("tirx.ptx_arrive_barrier", "tirx.ptx_wait_barrier", "tirx.ptx_init_barrier", "tirx.create_barriers"),
        *("tl.mbarrier_", "tl.ptx_arrive_cluster_barrier", "tl.ptx_fence_barrier_init", "tl.named_barrier"),
        *("tl.fence_proxy_async", "tirx.ptx_cp_async_barrier", "tl.ptx_cp_async_barrier"),
    ),
    "hand-written-synchronisation": (
        *("tirx.tvm_storage_sync", "tl.sync_", "tl.syncthreads_", "tl.pdl_", "tl.warpgroup_"),
        *("tirx.ptx_commit_group", "tirx.ptx_wait_group", "tl.tcgen05_after", "tl.tcgen05_before"),
    ),
    "hand-written-tma": ("tl.tma_", "tl.create_tma_", "tl.prefetch_tma_", "tl.ptx_cp_async", "tirx.ptx_cp_async"),
    "cluster-launch": ("tl.cluster_", "tl.clc_", "tl.block_rank_in_cluster", "tl.ptx_cluster_store"),
    "loop-break": ("tl.loop_break", "tirx.break_loop", "tirx.continue_loop", "tirx.thread_return", "tirx.ret"),
    "already-specialised": (
        *("tl.set_max_nreg", "tl.no_set_max_nreg", "tl.annotate_producer_reg_dealloc"),
        *("tl.annotate_consumer_reg_alloc", "tl.tl_shuffle_elect"),
    ),
    "atomic-operation": ATOMIC_PREFIXES,
    "thread-level-operator": (
        *("tl.get_lane_idx", "tl.get_warp", "tl.shfl_", "tl.match_", "tirx.tvm_warp_", "tl.warp_reduce_", "tl.rng_"),
        *("tl.ptx_", "tl.tcgen05_", "tl.ldg", "tl.stg", "tl.lds", "tl.sts", "tl.deallocate_tmem", "tl.device_assert"),
        *("tl.initialize_wgmma_descriptor", "tl.initialize_tcgen05_descriptor", "tl.increase_descriptor_offset"),
        *("tirx.address_of", "tirx.tvm_access_ptr", "tirx.ptx_ldmatrix", "tirx.ptx_mma", "tirx.handle_add_byte_offset"),
    ),
    "unsupported-tile-operator": ("tl.tileop.", "tl.reducer_update", "tl.mvb_stage_index"),
    "other-target": ("tl.ascend_", "tl.simd.", "tl.cooperative_tensor_", "tl.tvm_mfma", "tl.tvm_rdna", "tl.ds_read"),
}
"""Known operators that no warp schedule can express, by the code of the refusal; an entry is a name or a prefix of names."""

ATTRIBUTE_KEYS = frozenset(
    {"threadblock_swizzle_pattern", "tl.min_blocks_per_sm", "tl.ws_op_id", "tl.ws_pipeline_depth", "warp_specialize"}
)
"""Keys of attribute statements that the walk knows."""

ANNOTATION_KEYS = frozenset(
    {"tl.launch_threads", "layout_map", "safe_value_map", "l2_hit_ratio_map", "tl.non_restrict_params", "barrier_init"}
    | {"tl.ws_schedule", "tl.ws_op_id", "num_stages", "coalesced_width", "parallel_loop_layout", "batch", "wg_wait"}
    | {"tl_pipeline_order", "tl_pipeline_stage", "tl_pipeline_group", "tl_pipelined_num_stages", "stmt_group"}
    | {"pragma_unroll_explicit", "pragma_unroll_factor", "reducer_info", "reducer_info_v2", "rep", "op"}
    | {"disable_tma", "prefer_instruction", "eviction_policy", "cluster_mask", "barrier", "dst_block", "k_pack"}
    | {"is_tma_copy", "is_async_copy", "is_wgmma", "is_tcgen05", "emit_arrive", "memory_order", "use_2cta", "use_tma"}
    | {"is_gather4", "is_scatter4", "gather4_rows", "gather4_col", "leader_scope_threads", "nan_propagate"}
    | {"no_implicit_async_commit_wait", "force_cp_async", "parallel_prefer_async", "parallel_loop_predicate"}
    | {"sf_a_granularity_k", "sf_b_granularity_k", "tl.local_var_init", "cluster_dims", "conflict_hint", "precision"}
    | {"tl.layout_cost_model", "tl.smem_alignment_map", "tl.buffer_alias_map", "lexical_alloc_scope", "synthetic_while"}
    # Ascend: what seeds/ascend_annotations.txt writes.
    | {
        "tl.buffer_versions_map",
        "tl.buffer_version",
        "tl.buffer_version_mode",
        "tl.manual_multi_buffer",
        "tl.ascend_task",
    }
    | {"tl.unlimit_memory_scopes", "tl.unlimit_memory", "tl.ascend_stage", "tl.ascend_per_core_task", "vector_count"}
    | {"tl.vf_latency", "tl.vf_source_index", "tl.schedule_unit", "stage", "plan", "enable_offset", "pad_value"}
    | {"tl.simtvf_scope", "tl.simdvf_scope", "thread_extent", "latency", "ii", "double", "data_select", "transpose"}
    | {"tl.l0_sf_bindings", "tl.simd_pointer_dtypes"}
    | {"dual_dst_ctl", "unit_flag_ctrl", "sub_blockid", "l2_cache_ctrl", "rbits", "seed", "multi_buffer_eligible"}
)
"""Keys that annotations of loops, blocks and calls may have."""

FOREIGN_KEYS = ("pragma_import", "code_block", "tilelang_compile_flags", "tl.device_compile_flags", "pragma_scope")
"""Prefixes of keys that carry source text or compiler flags."""

FUNCTION_ATTRIBUTES = frozenset(
    {"global_symbol", "tirx.noalias", "tirx.is_entry_func", "tilelang_out_idx", "tilelang_callee_allocated_outputs"}
)
"""Attributes of the function that do not change what the device runs."""


def operator_verdict(name: str) -> str:
    """``""`` for an allowed operator, a refusal code for a known inexpressible one, ``foreign-call`` for everything else."""
    if name in ALLOWED_OPERATORS:
        return ""
    for code, names in INEXPRESSIBLE_OPERATORS.items():
        if any(name.startswith(prefix) for prefix in names):
            return code
    return "foreign-call"
