"""Protocol: how a time is measured, as a named frozen value that is part of a result's identity.

Any change of a number here changes what a time means, so it needs a new name; a test compares each name with its digest.
"""

import json
from dataclasses import asdict, dataclass, replace

from warpwright.solver.domain.identity import digest_text

__all__ = ["GPU_1", "GPU_1_RESTED", "PROTOCOLS", "Protocol"]


@dataclass(frozen=True, slots=True)
class Protocol:
    """Times are of single launches between two device events, the L2 cache flushed before each, after a warm-up by time."""

    name: str
    warmup_ms: float
    runs_minimum: int
    runs_maximum: int
    timed_ms: float
    """Device time after which no further run starts, once there are ``runs_minimum``."""
    flush_l2: bool
    noise_limit: float
    """Spread over median above which a result is called noisy, if the run limit ended the sampling."""
    finalist_margin: float
    """Candidates that are at most this much slower than the fastest are measured again, interleaved."""
    finalists_maximum: int
    screening_rounds: int
    """Rounds over all correct candidates that choose the finalists: a separately measured time depends on the chip's
    temperature.
    """
    rounds: int
    runs_per_round: int
    round_warmup_ms: float
    tie_margin: float
    """Relative difference below which two finalists tie, whatever their spread."""
    seeds: tuple[int, ...]
    """Seeds of the inputs of the checks before timing; every check draws fresh inputs."""
    final_seed: int
    """Seed of the check after timing."""
    tolerances: tuple[tuple[str, float], ...]
    """Largest relative error in norm by output dtype; 0 means equal bit for bit."""
    block_elements: int
    block_factor: float
    """The error of every block of elements may be this many times the tolerance, so that a small wrong corner is not
    hidden in a norm.
    """
    rest_ms: float = 0.0
    """Idle time before each batch of timed launches, so that the mean power stays under the limit and the clock at its
    highest; 0: back to back, which for a large kernel means at the device's power limit."""

    def tolerance(self, dtype: str) -> float:
        """The tolerance of an output dtype; integers and unlisted types must be equal."""
        return dict(self.tolerances).get(dtype, 0.0)

    def digest(self) -> str:
        """Digest over all numbers; a protocol without rest has the digest that it had before rests were known."""
        numbers = asdict(self)
        if not self.rest_ms:
            del numbers["rest_ms"]
        return digest_text(json.dumps(numbers, sort_keys=True))


GPU_1 = Protocol(
    name="gpu-1",
    warmup_ms=60.0,
    runs_minimum=15,
    runs_maximum=60,
    timed_ms=120.0,
    flush_l2=True,
    noise_limit=0.05,
    finalist_margin=0.06,
    finalists_maximum=8,
    screening_rounds=3,
    rounds=15,
    runs_per_round=9,
    round_warmup_ms=15.0,
    tie_margin=0.005,
    seeds=(11, 23, 47),
    final_seed=101,
    tolerances=(
        ("float64", 1e-10),
        ("float32", 1e-3),
        ("float16", 3e-3),
        ("bfloat16", 1.2e-2),
        ("float8_e4m3fn", 6e-2),
        ("float8_e4m3", 6e-2),
        ("float8_e5m2", 1.2e-1),
    ),
    block_elements=1024,
    block_factor=8.0,
)
"""The first protocol. float32 outputs may come from tf32 products, hence 1e-3; bf16 and f16 round once at the end."""

GPU_1_RESTED = replace(GPU_1, name="gpu-1-rested", warmup_ms=1.0, round_warmup_ms=1.0, runs_per_round=3, rest_ms=120.0)
"""At the boost clock: short batches after a rest. For kernels that run occasionally; ``gpu-1`` is for those that run
continuously.
"""

PROTOCOLS = {GPU_1.name: GPU_1, GPU_1_RESTED.name: GPU_1_RESTED}
"""Protocols by name, old ones included: a stored result can always be read."""
