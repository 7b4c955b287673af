"""What a foreign object says beyond the fields it was read into, as a small patch that gives it back exactly.

Exactly means an equal object: same keys, same numbers; whether a number was written `0` or `0.0` is not kept.
"""

from __future__ import annotations

from typing import Any

Object = dict[str, Any]


def patch_between(found: Object, rebuilt: Object) -> Object:
    """What turns the rebuilt object into the found one; empty when they are equal."""
    changed = {
        key: value
        for key, value in found.items()
        if key not in rebuilt or (rebuilt[key] is not value and rebuilt[key] != value)  # arrays are never compared
    }
    dropped = [key for key in rebuilt if key not in found]
    return {**({"set": changed} if changed else {}), **({"drop": dropped} if dropped else {})}


def apply_patch(patch: Object, rebuilt: Object) -> Object:
    return {
        key: value for key, value in {**rebuilt, **patch.get("set", {})}.items() if key not in patch.get("drop", ())
    }
