"""An environment in which only some extras are installed: an import hook lets no package of the others be found.

It is a ``sitecustomize`` module, so that every interpreter has it, the supervised children included.
"""

import os
import subprocess
import sys
from collections.abc import Collection
from pathlib import Path

from warpwright.solver.domain.extras import EXTRAS

__all__ = ["Installed"]

ROOT = Path(__file__).resolve().parents[3]
BEHIND = {"kernels": ("tvm", "tvm_ffi", "pynvml", "numpy"), "cluster": ("opentelemetry", "structlog")}
"""What comes with an extra and is not in its row of the table: it is inside another package, or another extra has it too."""

HOOK = """
import sys
from importlib.abc import MetaPathFinder

class Absent(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {absent!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
"""


class Installed:
    """Programs with the base install and some extras; they run in the folder ``home``."""

    def __init__(self, folder: Path, *extras: str) -> None:
        self._site, self.home = folder / "site", folder / "home"
        self._site.mkdir()
        self.home.mkdir()
        absent = modules(EXTRAS) - modules(extras)
        (self._site / "sitecustomize.py").write_text(HOOK.format(absent=sorted(absent)))

    def python(self, *arguments: str | Path, server: str = "") -> subprocess.CompletedProcess[str]:
        """Runs the interpreter to its end."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("WARPWRIGHT_")}
        path = os.pathsep.join([str(self._site), str(ROOT)])
        named = {"WARPWRIGHT_SERVER": server} if server else {}
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=self.home,
            env={**kept, "PYTHONPATH": path, "WARPWRIGHT_DATA": str(self.home / "data"), **named},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    def warpwright(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Runs the program to its end."""
        return self.python("-m", "warpwright", *arguments)


def modules(extras: Collection[str]) -> set[str]:
    """All that these extras bring."""
    return {module for extra in extras for module in (*EXTRAS[extra], *BEHIND.get(extra, ()))}
