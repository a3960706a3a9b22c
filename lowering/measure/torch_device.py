"""The common part of CUDA and NPU devices: tensors, poison, comparison and timing through torch. Imports torch: children only.

Kernels are shared objects with ``init``, ``call(pointers..., stream)`` and ``get_last_error``, called through ctypes on torch's
current stream.
"""

import ctypes
import os
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from warpwright.lowering.compile.build import artifact_damage
from warpwright.lowering.compile.result import Argument, CompiledKernel
from warpwright.lowering.measure.device import DeviceMissing, LaunchFailed, OutputComparison, relative
from warpwright.lowering.measure.libraries import LIBRARY, library_call
from warpwright.solver.domain.errors import DocumentError
from warpwright.solver.domain.identity import digest_bytes

__all__ = ["DTYPES", "TorchBuffers", "TorchDevice", "TorchKernel"]

DTYPES = {
    "bool": "bool",
    "int8": "int8",
    "uint8": "uint8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float16": "float16",
    "bfloat16": "bfloat16",
    "float32": "float32",
    "float64": "float64",
    "float8_e4m3": "float8_e4m3fn",
    "float8_e4m3fn": "float8_e4m3fn",
    "float8_e5m2": "float8_e5m2",
}
"""Torch's names of TileLang's dtypes."""

FLOAT8_NAN = 0x7F


@dataclass(slots=True)
class TorchBuffers:
    """Tensors in argument order; ``originals`` keeps the initial content of read-and-written arguments."""

    arguments: tuple[Argument, ...]
    tensors: list[Any]
    originals: dict[int, Any]


@dataclass(slots=True)
class TorchKernel:
    """A loaded kernel: ``call(tensors, stream)`` returns the launcher's return code."""

    call: Callable[[list[Any], Any], int]
    error: Callable[[], str]
    name: str


class TorchDevice(ABC):
    """One device that torch calls ``kind`` (``cuda``, ``npu``)."""

    kind: str

    def __init__(self) -> None:
        try:
            import torch
        except ImportError as error:
            raise DeviceMissing("torch is not installed: pip install 'warpwright[kernels]'", place="torch") from error
        self._torch = torch
        self._kernels: dict[str, TorchKernel] = {}
        self._flush_buffer: Any = None

    @abstractmethod
    def synchronize(self) -> None:
        """Waits for all work; KernelFaulted or DeviceLost by the driver's error number."""

    @abstractmethod
    def stream(self) -> Any:
        """The raw handle of torch's current stream."""

    @abstractmethod
    def event(self) -> Any:
        """A new timing event with ``record`` and ``elapsed_time`` (milliseconds)."""

    def canary(self) -> bool:
        """A sum whose result is known, on the device."""
        count = 1 << 20
        numbers = self._torch.arange(count, device=self.kind, dtype=self._torch.int64)
        total = int(numbers.sum().item())
        self.synchronize()
        return total == count * (count - 1) // 2

    def load(self, kernel: CompiledKernel) -> TorchKernel:
        """Loads a shared object after checking its digest, or finds a library call by name."""
        if kernel.binary is None:
            raise DocumentError("a kernel without a binary cannot be measured", code="artifact-damaged")
        if kernel.binary.startswith(LIBRARY):
            return TorchKernel(library_call(kernel.binary), str, kernel.binary)
        if kernel.binary_digest not in self._kernels:
            self._kernels[kernel.binary_digest] = self._open(kernel)
        return self._kernels[kernel.binary_digest]

    def inputs(self, arguments: Sequence[Argument], seed: int) -> TorchBuffers:
        """Fresh buffers; inputs by dtype and seed, every argument from its own generator."""
        buffers = TorchBuffers(tuple(arguments), [], {})
        for position, argument in enumerate(arguments):
            if argument.access == "out":
                tensor = self._torch.empty(argument.shape, dtype=self._dtype(argument.dtype), device=self.kind)
            else:
                tensor = self._random(argument, seed * 1009 + position)
            buffers.tensors.append(tensor)
            if argument.access == "inout":
                buffers.originals[position] = tensor.clone()
        self.poison(buffers, seed)
        return buffers

    def poison(self, buffers: TorchBuffers, salt: int) -> None:
        """NaN in floating-point outputs, a pattern by ``salt`` in others; read-and-written arguments get their
        initial content.
        """
        for position, argument in enumerate(buffers.arguments):
            tensor = buffers.tensors[position]
            if argument.access == "inout":
                tensor.copy_(buffers.originals[position])
            elif argument.access == "out" and argument.dtype.startswith("float8"):
                tensor.view(self._torch.uint8).fill_(FLOAT8_NAN)
            elif argument.access == "out" and tensor.is_floating_point():
                tensor.fill_(float("nan"))
            elif argument.access == "out":
                tensor.fill_(salt % 2 if argument.dtype == "bool" else 85 + 17 * (salt % 2))

    def launch(self, kernel: TorchKernel, buffers: TorchBuffers) -> None:
        """One launch on torch's stream."""
        code = kernel.call(buffers.tensors, self.stream())
        if code != 0:
            message = kernel.error()
            self.synchronize()
            raise LaunchFailed(f"{kernel.name}: {message or f'error {code}'}", place=kernel.name)

    def outputs(self, buffers: TorchBuffers) -> list[Any]:
        """Copies of everything that the kernel writes."""
        written = zip(buffers.arguments, buffers.tensors, strict=True)
        return [tensor.clone() for argument, tensor in written if argument.access != "in"]

    def differing(self, found: list[Any], expected: list[Any]) -> int:
        """Elements of two copies that are not the same bit by bit: NaN equals NaN, and zero differs from minus zero."""
        bits = self._torch.uint8
        pairs = [(a.contiguous().view(bits), b.contiguous().view(bits)) for a, b in zip(found, expected, strict=True)]
        widths = [a.element_size() for a in found]
        differences = [(a != b).view(-1, width).any(dim=1) for (a, b), width in zip(pairs, widths, strict=True)]
        return sum(int(each.sum().item()) for each in differences)

    def compare(
        self, found: list[Any], expected: list[Any], arguments: Sequence[Argument], block: int
    ) -> tuple[OutputComparison, ...]:
        """Relative error in norm of each output, of the whole and of its worst block."""
        written = [argument for argument in arguments if argument.access != "in"]
        compared = tuple(
            self._compare(argument, ours, theirs, block)
            for argument, ours, theirs in zip(written, found, expected, strict=True)
        )
        self.synchronize()
        return compared

    def warm_up(self, kernel: TorchKernel, buffers: TorchBuffers, milliseconds: float) -> None:
        """Back to back, synchronised every few launches so that a broken kernel shows early."""
        deadline = time.monotonic() + milliseconds / 1e3
        self.launch(kernel, buffers)
        self.synchronize()
        while time.monotonic() < deadline:
            for _ in range(4):
                self.launch(kernel, buffers)
            self.synchronize()

    def timed(self, kernel: TorchKernel, buffers: TorchBuffers, runs: int, *, flush: bool) -> list[float]:
        """Times between two events around each launch; the flush is a write of twice the L2's size before it."""
        pairs = [(self.event(), self.event()) for _ in range(runs)]
        for begin, end in pairs:
            if flush and self._flush_buffer is not None:
                self._flush_buffer.zero_()
            begin.record()
            self.launch(kernel, buffers)
            end.record()
        self.synchronize()
        return [float(begin.elapsed_time(end)) * 1e6 for begin, end in pairs]

    def make_flush_buffer(self, l2_bytes: int) -> None:
        """Twice the L2 cache, at least 64 MiB."""
        self._flush_buffer = self._torch.empty(max(l2_bytes, 32 << 20) * 2, dtype=self._torch.uint8, device=self.kind)

    def _compare(self, argument: Argument, ours: Any, theirs: Any, block: int) -> OutputComparison:
        torch = self._torch
        wide = torch.float64 if ours.dtype in (torch.float64, torch.int64, torch.int32) else torch.float32
        a, b = ours.flatten().to(wide), theirs.flatten().to(wide)
        ours_finite, finite = torch.isfinite(a), torch.isfinite(b)
        unwritten = int((finite & ~ours_finite).sum().item())
        # NaN does not equal itself; an infinity does.
        special = int((~finite & ~((a == b) | (torch.isnan(a) & torch.isnan(b)))).sum().item())
        # A difference of two finite numbers may overflow: it is large, not missing.
        difference = torch.where(finite & ours_finite, a - b, 0.0).nan_to_num()
        size = self._norm(b.where(finite, torch.zeros_like(b)))
        error = self._norm(difference)
        whole = difference.numel() // block * block
        worst = self._norm(difference[whole:]) if whole < difference.numel() else 0.0
        if whole:
            blocks = torch.linalg.vector_norm(difference[:whole].view(-1, block), dim=1, dtype=torch.float64)
            worst = max(worst, float(blocks.max().item()))
        typical = size * (min(block, max(1, a.numel())) / max(1, a.numel())) ** 0.5
        errors = relative(error, size), relative(worst, typical)
        return OutputComparison(argument.name, argument.dtype, *errors, unwritten, special)

    def _norm(self, values: Any) -> float:
        """In double precision: the squares of large floats overflow in their own type."""
        return float(self._torch.linalg.vector_norm(values, dtype=self._torch.float64).item())

    def _open(self, kernel: CompiledKernel) -> TorchKernel:
        path = Path(kernel.binary or "")
        data = path.read_bytes()
        if digest_bytes(data) != kernel.binary_digest or artifact_damage(data):
            message = "a binary is damaged or not the one that was built"
            raise DocumentError(message, code="artifact-damaged", place=path.parent.name)
        library = ctypes.CDLL(str(path), mode=os.RTLD_LOCAL | os.RTLD_NOW)
        library.get_last_error.restype = ctypes.c_char_p

        def error() -> str:
            return (library.get_last_error() or b"").decode(errors="replace")

        def call(tensors: list[Any], stream: Any) -> int:
            pointers = [ctypes.c_void_p(tensor.data_ptr()) for tensor in tensors]
            return int(library.call(*pointers, ctypes.c_void_p(stream)))

        if library.init() != 0:
            raise LaunchFailed(f"the driver refuses the kernel's resources: {error()}", place=path.parent.name)
        return TorchKernel(call, error, kernel.launch.kernel if kernel.launch else path.name)

    def _random(self, argument: Argument, seed: int) -> Any:
        torch = self._torch
        generator = torch.Generator(device=self.kind).manual_seed(seed)
        dtype = self._dtype(argument.dtype)
        if dtype.is_floating_point:
            narrow = torch.float32 if argument.dtype.startswith("float8") else dtype
            return torch.randn(argument.shape, generator=generator, device=self.kind, dtype=narrow).to(dtype)
        low, high = (0, 2) if dtype == torch.bool else (0, 100) if dtype == torch.uint8 else (-100, 100)
        return torch.randint(low, high, argument.shape, generator=generator, device=self.kind).to(dtype)

    def _dtype(self, name: str) -> Any:
        if name not in DTYPES:
            raise DocumentError(f"there are no inputs for dtype {name!r}", code="not-applicable-argument", place=name)
        return getattr(self._torch, DTYPES[name])
