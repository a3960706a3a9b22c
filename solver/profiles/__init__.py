"""Hardware profiles: one TOML document per device, every number with unit, origin and source.

Built-in devices are data files of this package; users send their own documents in the same form (``docs/profiles.md``).
"""

from warpwright.solver.profiles.loader import (
    builtin_profile,
    builtin_profiles,
    check_profile,
    load_profile,
    parse_profile,
    profile_from_json,
    profile_to_json,
)
from warpwright.solver.profiles.schema import Need, PermittedNumber, entries, entry_at

__all__ = [
    "Need",
    "PermittedNumber",
    "builtin_profile",
    "builtin_profiles",
    "check_profile",
    "entries",
    "entry_at",
    "load_profile",
    "parse_profile",
    "profile_from_json",
    "profile_to_json",
]
