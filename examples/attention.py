"""Attention forward (bf16, head dimension 128, non-causal) as a plain straight-line kernel, without a schedule."""

import tilelang.language as T

VARIANTS = [
    {"BM": 128, "BN": 128, "threads": 256, "stages": 2, "product_clears": True},
    {"BM": 192, "BN": 128, "threads": 384, "stages": 2, "product_clears": False},
    {"BM": 192, "BN": 64, "threads": 384, "stages": 2, "product_clears": True},
    {"BM": 128, "BN": 64, "threads": 256, "stages": 2, "product_clears": True},
]
"""Variants of the family; the first one is the default. BN must divide the sequence: the last tile is not masked.

``product_clears``: the score product clears its accumulator, which saves a fill; on an H200 that gained 8 % at BM 128 and
spilled at BM 192 with 160 registers (docs/results/h200.md), so both forms are in the family.
"""

CHECK_SIZES = [{"batch": 1, "heads": 3, "seq": 1024}]
"""Fewer blocks than a device has multiprocessors, and for BM 192 a ragged last one; the sequence stays a multiple of BN."""


def fill_unless(product_clears, scores):
    """The fill as a statement, or nothing: the author's choice, made before the kernel is traced."""
    return None if product_clears else T.clear(scores)


def kernel(batch=4, heads=16, seq=8192, dim=128, BM=128, BN=128, threads=256, stages=2, product_clears=True):
    """Q, K, V, O: (batch, heads, seq, dim) bf16; softmax statistics in float32; scale 1 / sqrt(dim)."""
    scale = (1.0 / dim) ** 0.5 * 1.44269504  # log2(e): exponentials are taken to base two
    shape = (batch, heads, seq, dim)

    @T.prim_func
    def attention_forward(
        Q: T.Tensor(shape, T.bfloat16),
        K: T.Tensor(shape, T.bfloat16),
        V: T.Tensor(shape, T.bfloat16),
        O: T.Tensor(shape, T.bfloat16),  # noqa: E741
    ):
        with T.Kernel(T.ceildiv(seq, BM), heads, batch, threads=threads) as (bx, by, bz):
            Qs = T.alloc_shared((BM, dim), T.bfloat16)
            Ks = T.alloc_shared((BN, dim), T.bfloat16)
            Vs = T.alloc_shared((BN, dim), T.bfloat16)
            Os = T.alloc_shared((BM, dim), T.bfloat16)
            scores = T.alloc_fragment((BM, BN), T.float32)
            probs = T.alloc_fragment((BM, BN), T.bfloat16)
            acc = T.alloc_fragment((BM, dim), T.float32)
            row_max = T.alloc_fragment((BM,), T.float32)
            row_max_prev = T.alloc_fragment((BM,), T.float32)
            rescale = T.alloc_fragment((BM,), T.float32)
            row_sum = T.alloc_fragment((BM,), T.float32)
            denominator = T.alloc_fragment((BM,), T.float32)
            T.copy(Q[bz, by, bx * BM : (bx + 1) * BM, :], Qs)
            T.clear(acc)
            T.clear(denominator)
            T.fill(row_max, -T.infinity(T.float32))
            for k in T.Pipelined(T.ceildiv(seq, BN), num_stages=stages):
                T.copy(K[bz, by, k * BN : (k + 1) * BN, :], Ks)
                fill_unless(product_clears, scores)
                T.gemm(Qs, Ks, scores, transpose_B=True, policy=T.GemmWarpPolicy.FullRow, clear_accum=product_clears)
                T.copy(row_max, row_max_prev)
                T.reduce_max(scores, row_max, dim=1, clear=False)
                for i in T.Parallel(BM):
                    rescale[i] = T.exp2(row_max_prev[i] * scale - row_max[i] * scale)
                for i, j in T.Parallel(BM, BN):
                    scores[i, j] = T.exp2(scores[i, j] * scale - row_max[i] * scale)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(BM):
                    denominator[i] = denominator[i] * rescale[i] + row_sum[i]
                T.copy(scores, probs)
                for i, j in T.Parallel(BM, dim):
                    acc[i, j] *= rescale[i]
                T.copy(V[bz, by, k * BN : (k + 1) * BN, :], Vs)
                T.gemm(probs, Vs, acc, policy=T.GemmWarpPolicy.FullRow)
            for i in T.Parallel(BM):  # one division per row: dividing every element took 1 % of the kernel on an H200
                denominator[i] = 1.0 / denominator[i]
            for i, j in T.Parallel(BM, dim):
                acc[i, j] *= denominator[i]
            T.copy(acc, Os)
            T.copy(Os, O[bz, by, bx * BM : (bx + 1) * BM, :])

    return attention_forward
