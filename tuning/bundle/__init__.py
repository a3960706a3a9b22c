"""Bundles: built candidates in one file, for a machine without network or database; its results are given back to the job.

::

    pack(path, contents)            where candidates were built
    unpack(path, folder)            refuses every archive that is not exactly what ``pack`` writes
    measure_bundle(path, device)    on the GPU machine: the same session as a connected worker's
    read_results(text)              where the job is known: a checked document of results
"""

from warpwright.tuning.bundle.archive import BundleError, pack, unpack
from warpwright.tuning.bundle.contents import Contents
from warpwright.tuning.bundle.measuring import measure_bundle
from warpwright.tuning.bundle.results import BundleResults, read_results, write_results

__all__ = [
    "BundleError",
    "BundleResults",
    "Contents",
    "measure_bundle",
    "pack",
    "read_results",
    "unpack",
    "write_results",
]
