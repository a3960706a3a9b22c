"""Kernels that were built into this wheel, by name: ``mykernels.find("gemm_bias_relu", "h200")``."""

import json
from importlib.resources import files
from pathlib import Path

__all__ = ["find"]


def find(kernel, profile):
    """Path of the kernel's shared object and its launch numbers; KeyError when it was not built."""
    root = files(__name__) / "kernels"
    manifest = json.loads((root / "manifest.json").read_text("utf-8"))
    for entry in manifest["kernels"]:
        if (entry["kernel"], entry["profile"]) == (kernel, profile):
            return Path(str(root / entry["folder"] / "kernel.so")), entry["launch"]
    raise KeyError(f"{kernel} for {profile}")
