"""Builds the locked kernels into the wheel: ``pip wheel .`` runs ``warpwright build --locked`` once."""

import os
import subprocess
import sys
from pathlib import Path

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

HERE = Path(__file__).parent
LOCK = Path(os.environ.get("MYKERNELS_LOCK", HERE / "warpwright.lock"))


class BuildKernels(build_py):
    """``build_py`` that also builds ``mykernels/kernels`` from the lock file; a difference from it fails the build."""

    def run(self):
        super().run()
        out = Path(self.build_lib) / "mykernels" / "kernels"
        command = [sys.executable, "-m", "warpwright", "build", "--locked", "--lock", str(LOCK), "--out", str(out)]
        subprocess.run(command, check=True)


class WithBinaries(Distribution):
    """The wheel holds shared objects, so it is specific to a platform."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildKernels}, distclass=WithBinaries)
