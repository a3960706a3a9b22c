"""Small kernels with a legal schedule each, as starts for boundaries: no more in them than a rule needs."""

from dataclasses import replace

from tests import kernels
from tests.kernels import Sketch
from tests.unit.solver.families.situations import Situation, start
from warpwright.solver.domain.kernel import ROOT, Access, Memory
from warpwright.solver.domain.pins import Pins
from warpwright.solver.domain.schedule import RoleBody

__all__ = [
    "AS_BS",
    "nest",
    "pair_in_root",
    "peeks",
    "persistent",
    "products",
    "refilled_for_the_next",
    "ring",
    "ring_with_store",
    "rings",
    "there_and_back",
    "through_global",
    "turns",
    "two_in_one",
    "two_stores",
    "used_behind",
    "with_afterthought",
]

AS_BS = (("As", "Bs"),)


def ring(n: int = 64, *, trips: int | None = 64, groups: int = 1, depth: int = 2, policy: str = "square") -> Situation:
    """A product of 64 rows a warpgroup whose operands share one ring: 8 warps for one warpgroup, 12 for two."""
    graph = kernels.gemm(64 * groups, n, 32, threads=128 * groups, trips=trips, policy=policy)
    return start(graph, groups=groups, together=AS_BS, depth=depth)


def ring_with_store() -> Situation:
    """The same with a store role behind the consumer: a pipeline in the root as well, and three roles."""
    graph = kernels.gemm(64, 64, 32, threads=128)
    return start(graph, together=AS_BS, pins=Pins(store_role=True))


def rings(*, zero_based: bool = True) -> Situation:
    """The product with a ring for each operand."""
    graph = kernels.gemm(64, 64, 32, threads=128)
    scopes = tuple(replace(scope, zero_based=zero_based) if scope.id == "k" else scope for scope in graph.scopes)
    return start(replace(graph, scopes=scopes))


def persistent(*, guarded: bool = False) -> Situation:
    """A loop over tiles whose place every role computes for itself (``guarded``: under a guard)."""
    graph = kernels.persistent_gemm(64, 64, 32)
    ops = tuple(replace(op, guarded=guarded) if op.id == "row" else op for op in graph.ops)
    return start(replace(graph, ops=ops), together=AS_BS)


def products() -> Situation:
    """One ring, two products an iteration with the same operand."""
    s = Sketch("products", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.loop("k", 16)
    s.load("copy", "As", "k")
    for name in ("one", "two"):
        s.buffer(name, Memory.FRAGMENT, (64, 64), "float32")
        s.gemm(f"mma_{name}", "As", "As", name, (64, 64, 64), "k")
    return start(s.graph())


def turns(*uses: str) -> Situation:
    """One buffer, filled and used in this order in each iteration: ``fill…`` fills it, all else uses it."""
    s = Sketch("turns", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.loop("k", 16)
    for use in uses:
        if use.startswith("fill"):
            s.load(use, "As", "k")
        else:
            s.buffer(f"of_{use}", Memory.FRAGMENT, (64, 64))
            s.each(use, ["As"], [f"of_{use}"], "k")
    return start(s.graph())


def peeks(*, twice: bool = False) -> Situation:
    """The consumer looks at the shared operand beside its product (``twice``: the load role does so as well)."""
    s = Sketch("peeks", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("seen", Memory.FRAGMENT, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.loop("k", 16)
    s.load("copy", "As", "k")
    s.each("peek", ["As"], ["seen"], "k")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    situation = start(s.graph())
    return situation.body("k", "load", "acquire:as", "copy", "peek", "commit:as") if twice else situation


def nest() -> Situation:
    """A ring in the inner loop around ``next``; ``first`` fills the buffer before that loop, ``last`` uses it behind."""
    s = Sketch("nest", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.buffer("seen", Memory.FRAGMENT, (64, 64))
    s.loop("outer", 4)
    s.load("first", "As", "outer")
    s.loop("inner", 6, "outer")
    s.load("next", "As", "inner")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "inner")
    s.each("last", ["As"], ["seen"], "outer")
    situation = start(s.graph(), placed={"first": "load", "next": "load"})
    situation = situation.pipeline("ring", depth=1, buffers=("As",)).pipeline("tile", depth=1, buffers=("As",))
    situation = situation.body("inner", "load", "acquire:ring", "next", "commit:ring")
    situation = situation.body("inner", "consumer", "wait:ring", "mma", "release:ring")
    situation = situation.body("outer", "load", "acquire:tile", "first", "inner", "commit:tile")
    return situation.body("outer", "consumer", "inner", "wait:tile", "last", "fence:tile", "release:tile")


def two_stores() -> Situation:
    """The tile goes to two places, by a store of the store role and by one of the load role."""
    s = Sketch("two_stores", 128)
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.buffer("Cs", Memory.SHARED, (64, 64))
    s.fill("clear", "acc")
    s.copy("stage_c", "acc", "Cs")
    s.store("store_c", "Cs")
    s.store("store_d", "Cs", target="D")
    situation = start(s.graph(), pins=Pins(store_role=True)).role("load", lo=5, hi=6, registers=24)
    (root,) = situation.schedule.scopes
    situation = situation.programs(replace(root, bodies=(*root.bodies, RoleBody("load", ()))))
    return situation.body(ROOT, "store", "wait:cs", "store_c", "release:cs").body(
        ROOT, "load", "wait:cs", "store_d", "release:cs"
    )


def used_behind() -> Situation:
    """An operand is used once more behind the loop whose ring hands it over."""
    s = Sketch("used_behind", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.buffer("seen", Memory.FRAGMENT, (64, 64))
    s.loop("k", 16)
    s.load("copy", "As", "k")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    s.each("last", ["As"], ["seen"])
    return start(s.graph())


def pair_in_root(stage: str = "") -> Situation:
    """Two operands are loaded in the root, the second one at this stage (``@1``)."""
    s = Sketch("pair_in_root", 128)
    for name in ("As", "Bs"):
        s.buffer(name, Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.load("copy_a", "As")
    s.load("copy_b", "Bs")
    s.gemm("mma", "As", "Bs", "acc", (64, 64, 64))
    second = (f"acquire:bs{stage}", "copy_b", f"commit:bs{stage}")
    return start(s.graph()).body(ROOT, "load", "acquire:as", "copy_a", "commit:as", *second)


def there_and_back(stage: int) -> Situation:
    """Load role and consumer each fill a buffer of one version for the other; the load role looks at its one this much later."""
    s = Sketch("there_and_back", 128)
    for name in ("As", "Bs"):
        s.buffer(name, Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.buffer("seen", Memory.FRAGMENT, (64, 64))
    s.loop("k", 16)
    s.load("copy", "As", "k")
    s.each("fill", [], ["Bs"], "k")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    s.each("look", ["Bs"], ["seen"], "k")
    situation = start(s.graph(), placed={"look": "load"}, helper=168, consumer=168, depth=1)
    back = (f"wait:bs@{stage}", "look", f"release:bs@{stage}")
    return situation.body("k", "load", "acquire:as", "copy", "commit:as", *back)


def two_in_one(*, together: bool) -> Situation:
    """One operation of the load role fills two buffers: ``together`` they are in one pipeline."""
    s = Sketch("two_in_one", 128)
    for name in ("As", "Bs"):
        s.buffer(name, Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.loop("k", 16)
    s.load("copy", "As", "k")
    s.ops[-1] = replace(s.ops[-1], writes=(*s.ops[-1].writes, Access("Bs", 64 * 64 * 2)))
    s.gemm("mma", "As", "Bs", "acc", (64, 64, 64), "k")
    return start(s.graph(), together=AS_BS if together else ())


def with_afterthought(role: str) -> Situation:
    """The product, and a last step on its accumulators in this role."""
    s = Sketch("afterthought", 128)
    s.buffer("As", Memory.SHARED, (64, 64))
    for name in ("acc", "other"):
        s.buffer(name, Memory.FRAGMENT, (64, 64), "float32")
    s.loop("k", 16)
    s.load("copy", "As", "k")
    s.gemm("mma", "As", "As", "acc", (64, 64, 64), "k")
    s.each("afterthought", ["acc"], ["other"])
    return start(s.graph(), placed={"afterthought": role}, helper=168, consumer=168)


def through_global(role: str) -> Situation:
    """A tile is stored and loaded back in this role."""
    s = Sketch("through_global", 128)
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    for name in ("Cs", "As"):
        s.buffer(name, Memory.SHARED, (64, 64))
    s.fill("clear", "acc")
    s.copy("stage_c", "acc", "Cs")
    s.store("store_c", "Cs")
    s.load("reload", "As", source="C")
    return start(s.graph(), placed={"reload": role}, helper=168, consumer=168)


def refilled_for_the_next(role: str) -> Situation:
    """The loop uses an operand first and loads the next iteration's in this role; a ring hands over that of the load role."""
    s = Sketch("refilled", 128)
    for name in ("As", "Bs"):
        s.buffer(name, Memory.SHARED, (64, 64))
    s.buffer("acc", Memory.FRAGMENT, (64, 64), "float32")
    s.loop("k", 16)
    s.load("copy", "Bs", "k")
    s.gemm("mma", "As", "Bs", "acc", (64, 64, 64), "k")
    s.load("next", "As", "k")
    situation = start(s.graph(), placed={"next": role}, helper=168, consumer=168)
    if role == "consumer":
        return situation
    situation = situation.pipeline("as", depth=1, buffers=("As",))
    situation = situation.body("k", "load", "acquire:bs", "copy", "commit:bs", "acquire:as", "next", "commit:as")
    return situation.body("k", "consumer", "wait:as", "wait:bs", "mma", "release:bs", "release:as")
