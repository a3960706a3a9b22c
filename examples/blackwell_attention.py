"""Attention forward for Blackwell (bf16, head dimension 128, non-causal): both products accumulate in tensor memory.

A plain straight-line kernel, without a schedule. Scores come out of tensor memory, probabilities go back into it as the operand
of the second product, and its result is added to the running sum in registers, where it is also rescaled.
"""

import tilelang.language as T

VARIANTS = [
    {"BM": 128, "BN": 64, "threads": 256, "stages": 2},
    {"BM": 128, "BN": 128, "threads": 256, "stages": 2},
]
"""Variants of the family; the first one is the default. BN must divide the sequence: the last tile is not masked. Two warpgroups
share the 128 rows, so that half a row of scores, sum and product fits a thread's registers.
"""

CHECK_SIZES = [{"batch": 1, "heads": 3, "seq": 1024}]
"""Fewer blocks than a device has multiprocessors; the sequence stays a multiple of BN."""

ONCE = 1
"""A loop of one trip makes one item of the statements in it. Reading a result and adding it must run at the same stage, and a
statement has the stage of the pipelines that it touches: the addition alone touches none."""


def kernel(batch=4, heads=16, seq=8192, dim=128, BM=128, BN=64, threads=256, stages=2):
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
            scores_tm = T.alloc_tmem((BM, BN), T.float32)
            probs_tm = T.alloc_tmem((BM, BN), T.bfloat16)
            product_tm = T.alloc_tmem((BM, dim), T.float32)
            scores = T.alloc_fragment((BM, BN), T.float32)
            probs = T.alloc_fragment((BM, BN), T.bfloat16)
            product = T.alloc_fragment((BM, dim), T.float32)
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
                T.gemm(Qs, Ks, scores_tm, transpose_B=True, clear_accum=True)
                T.copy(scores_tm, scores)
                T.copy(row_max, row_max_prev)
                T.reduce_max(scores, row_max, dim=1, clear=False)
                for i in T.Parallel(BM):
                    rescale[i] = T.exp2(row_max_prev[i] * scale - row_max[i] * scale)
                for i, j in T.Parallel(BM, BN):
                    scores[i, j] = T.exp2(scores[i, j] * scale - row_max[i] * scale)
                T.copy(scores, probs)
                T.copy(probs, probs_tm)
                T.reduce_sum(scores, row_sum, dim=1)
                for i in T.Parallel(BM):
                    denominator[i] = denominator[i] * rescale[i] + row_sum[i]
                T.copy(V[bz, by, k * BN : (k + 1) * BN, :], Vs)
                T.gemm(probs_tm, Vs, product_tm, clear_accum=True)
                for _once in T.unroll(ONCE):
                    T.copy(product_tm, product)
                    for i, j in T.Parallel(BM, dim):
                        acc[i, j] = acc[i, j] * rescale[i] + product[i, j]
            for i in T.Parallel(BM):
                denominator[i] = 1.0 / denominator[i]
            for i, j in T.Parallel(BM, dim):
                acc[i, j] *= denominator[i]
            T.copy(acc, Os)
            T.copy(Os, O[bz, by, bx * BM : (bx + 1) * BM, :])

    return attention_forward
