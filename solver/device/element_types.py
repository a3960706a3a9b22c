"""Element types by TileLang's names: how wide they are, and which tensor core rate of a profile is theirs."""

__all__ = ["element_bits", "tensor_rate_name"]

_RATES = {
    "bfloat16": "bf16",
    "float16": "fp16",
    "float32": "tf32",
    "int8": "int8",
    "uint8": "int8",
    "float64": "fp64",
}
_WITHOUT_DIGITS = 8
"""``bool`` is stored in a byte."""


def element_bits(dtype: str) -> int:
    """Bits of one element: the first number in the type's name."""
    digits = "".join(letter if letter.isdigit() else " " for letter in dtype).split()
    return int(digits[0]) if digits else _WITHOUT_DIGITS


def tensor_rate_name(dtype: str) -> str:
    """The ``NAME`` of ``tensor_core.NAME_macs_per_cycle`` for operands of this type; all eight-bit floats are ``fp8``.

    A type that no profile names keeps its own name, so that the error about its rate names it.
    """
    for prefix, name in (("float8", "fp8"), ("float4", "fp4")):
        if dtype.startswith(prefix):
            return name
    return _RATES.get(dtype, dtype)
