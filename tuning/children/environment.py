"""What a child inherits of its parent's environment: what compilers, drivers and interpreters read, and no secrets.

A service's children compile IR that anybody may have sent, so neither its token nor its database's URL is theirs to read. A child
that reads the user's own kernel file is that user's program and gets all of it.
"""

import os
from collections.abc import Mapping

__all__ = ["inherited", "users_environment"]

NAMES = frozenset(
    {
        *(
            "PATH",
            "HOME",
            "USER",
            "LOGNAME",
            "SHELL",
            "LANG",
            "LANGUAGE",
            "TZ",
            "TERM",
            "TMPDIR",
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
        ),
        *(
            "LD_LIBRARY_PATH",
            "LIBRARY_PATH",
            "CPATH",
            "C_INCLUDE_PATH",
            "CPLUS_INCLUDE_PATH",
            "CC",
            "CXX",
            "SOURCE_DATE_EPOCH",
        ),
        *("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "GLIBC_TUNABLES", "BISHENG_HOME"),
        *("WARPWRIGHT_NVCC", "WARPWRIGHT_LEASES"),
    }
)
PREFIXES = (
    *("LC_", "CUDA_", "NVIDIA_", "NVCC_", "TILELANG_", "TVM_", "PYTHON", "TORCH_", "PYTORCH_", "ASCEND_", "CCACHE_"),
    *("OMP_", "MKL_", "OPENBLAS_", "MALLOC_", "COV_", "COVERAGE_", "WARPWRIGHT_TEST_"),
)
SECRETS = ("TOKEN", "SECRET", "PASSWORD", "CREDENTIAL")
"""A name with one of these words is not inherited, whatever it begins with."""


def inherited(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of an environment that a child may have."""
    return {
        name: value
        for name, value in environment.items()
        if (name in NAMES or name.startswith(PREFIXES)) and not any(word in name.upper() for word in SECRETS)
    }


def users_environment() -> dict[str, str]:
    """The whole environment of this process, for a child that runs the files of the user who started it."""
    return dict(os.environ)
