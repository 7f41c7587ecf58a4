"""Reads the MIG profile out of a GRES type."""

import re

_PROFILE = re.compile(r"\d+[cg]\.\d+gb(?:\.(?:me|no_me|gfx)|[+-]me(?:\.all)?)?", re.IGNORECASE)


def find_profile(kind: str) -> str:
    """Return the MIG profile that a type names ("a100_3g.20gb": "3g.20gb"), else ""."""
    found = _PROFILE.search(kind)
    if not found:
        return ""
    return found[0].lower().replace(".no_me", "-me").replace(".me", "+me").replace(".gfx", "+gfx")
