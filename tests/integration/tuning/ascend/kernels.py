"""Kernels of the Ascend tests, read by ``kernel_file.read`` in a child: annotations in every form, and plans that overflow."""

import tilelang.ascend.language as T


def vector(TILE=4096, stages=2, forms=""):
    """Z = X + Y on the vector cores; ``forms`` picks the annotation."""
    N = 64 * TILE

    @T.prim_func
    def vector(X: T.Tensor((N,), T.float32), Y: T.Tensor((N,), T.float32), Z: T.Tensor((N,), T.float32)):
        with T.Kernel(8) as core:
            x = T.alloc_shared((TILE,), T.float32)
            y = T.alloc_shared((TILE,), T.float32)
            z = T.alloc_shared((TILE,), T.float32)
            T.annotate_buffer_versions(
                {
                    "": {},
                    "counts": {x: 3, y: 3, z: 2},
                    "mixed": {x: (2, "counter"), y: "iteration", z: (1, "auto")},
                    "out": {x: 1},
                    "four": {x: 4, y: 4, z: 4},
                }[forms]
            )
            for tile in T.Persistent([64], 8, core, num_stages=stages):
                T.copy(X[tile * TILE], x)
                T.copy(Y[tile * TILE], y)
                with T.SimtVF(threads=128):
                    for i in T.Parallel(TILE):
                        z[i] = x[i] + y[i]
                T.copy(z, Z[tile * TILE])

    return vector


def claimed():
    """As ``vector``, with an explicit claim of eligibility for x that the annotation overrides."""
    N = 64 * 4096

    @T.prim_func
    def claimed(X: T.Tensor((N,), T.float32), Z: T.Tensor((N,), T.float32)):
        with T.Kernel(8) as core:
            x = T.alloc_shared((4096,), T.float32)
            T.annotate_buffer_versions({x: 1})
            for tile in T.Persistent([64], 8, core, num_stages=2, annotations={"multi_buffer_eligible": [x.data]}):
                T.copy(X[tile * 4096], x)
                T.copy(x, Z[tile * 4096])

    return claimed


def two_level(stages=3):
    """A product whose outer loop keeps A in L1 while the inner one streams B: two loops share L1."""

    @T.prim_func
    def two_level(
        A: T.Tensor((1024, 256), T.bfloat16), B: T.Tensor((1024, 256), T.bfloat16), C: T.Tensor((1024, 1024), T.float32)
    ):
        with T.Kernel(1) as core:
            A_l1 = T.alloc_l1((256, 256), T.bfloat16)
            B_l1 = T.alloc_l1((256, 256), T.bfloat16)
            C_l0c = T.alloc_l0c((256, 256), T.float32)
            for i in T.Pipelined(4, num_stages=stages):
                T.copy(A[i * 256, core * 0], A_l1)
                for j in T.Pipelined(4, num_stages=stages):
                    T.copy(B[j * 256, 0], B_l1)
                    T.gemm(A_l1, B_l1, C_l0c, transpose_B=True, clear_accum=True)
                    T.copy(C_l0c, C[i * 256, j * 256])

    return two_level


def ring(declared=2):
    """Ping-pong by hand: the indices walk around two versions, ``declared`` says how many."""
    N = 64 * 2048

    @T.prim_func
    def ring(X: T.Tensor((N,), T.float32), Z: T.Tensor((N,), T.float32)):
        with T.Kernel(1) as core:
            buffer = T.alloc_shared((2, 2048), T.float32)
            T.annotate_manual_multi_buffer({buffer: declared})
            for tile in T.serial(64):
                T.copy(X[core * 0 + tile * 2048 : core * 0 + tile * 2048 + 2048], buffer[tile % 2, 0:2048])
                T.copy(buffer[tile % 2, 0:2048], Z[tile * 2048 : tile * 2048 + 2048])

    return ring


def tiles(M=64, N=64, K=128):
    """A product through every memory of the cube core: L1, L0A, L0B, L0C."""

    @T.prim_func
    def tiles(A: T.Tensor((M, K * 4), T.bfloat16), B: T.Tensor((N, K * 4), T.bfloat16), C: T.Tensor((M, N), T.float32)):
        with T.Kernel(1) as core:
            A_l1 = T.alloc_l1((M, K), T.bfloat16)
            B_l1 = T.alloc_l1((N, K), T.bfloat16)
            A_l0a = T.alloc_l0a((M, K), T.bfloat16)
            B_l0b = T.alloc_l0b((N, K), T.bfloat16)
            C_l0c = T.alloc_l0c((M, N), T.float32)
            for k in T.Pipelined(4, num_stages=2):
                T.copy(A[core * 0, k * K], A_l1)
                T.copy(B[core * 0, k * K], B_l1)
                T.copy(A_l1, A_l0a)
                T.copy(B_l1, B_l0b)
                T.gemm(A_l0a, B_l0b, C_l0c, transpose_B=True, clear_accum=(k == 0))
            T.copy(C_l0c, C)

    return tiles


def two_products(stages=2):
    """Two products, each of an L1 tile of its own: every tile is handed over by flags of its own."""

    @T.prim_func
    def two_products(
        A: T.Tensor((64, 4096), T.bfloat16),
        B: T.Tensor((64, 4096), T.bfloat16),
        C: T.Tensor((64, 64), T.float32),
        D: T.Tensor((64, 64), T.float32),
    ):
        with T.Kernel(1) as core:
            A_l1 = T.alloc_l1((64, 64), T.bfloat16)
            B_l1 = T.alloc_l1((64, 64), T.bfloat16)
            C_l0c = T.alloc_l0c((64, 64), T.float32)
            D_l0c = T.alloc_l0c((64, 64), T.float32)
            for k in T.Pipelined(64, num_stages=stages):
                T.copy(A[core * 0, k * 64], A_l1)
                T.copy(B[core * 0, k * 64], B_l1)
                T.gemm(A_l1, A_l1, C_l0c, transpose_B=True, clear_accum=(k == 0))
                T.gemm(B_l1, B_l1, D_l0c, transpose_B=True, clear_accum=(k == 0))
            T.copy(C_l0c, C)
            T.copy(D_l0c, D)

    return two_products
