"""What `replay --dry-run` prints for people."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_MOST_LANES: Final = 12


def print_preview(found: Mapping[str, Any]) -> None:
    rehearsal, dropped = found["rehearsal"], found["dropped_requests"]
    reasons = "".join(f", {count} {reason.replace('_', ' ')}" for reason, count in dropped.items())
    print(
        f"{found['sessions']} sessions, {found['corpus_requests']} requests, "
        f"{sum(dropped.values())} dropped before sending ({found['dropped_share']:.1%}{reasons})"
    )
    print(f"corpus {found['corpus_fingerprint']}, seed {found['seed']}")
    for lane in found["lanes"][:_MOST_LANES]:
        print(f"  lane {lane['lane']}: {lane['label']}, {_begins(lane)}")
    if len(found["lanes"]) > _MOST_LANES:
        print(f"  and {len(found['lanes']) - _MOST_LANES} more lanes")
    print(
        f"with answers as fast as recorded: {rehearsal['warmup_requests']} requests to warm up, "
        f"{rehearsal['profile_requests']} profiled, {rehearsal['input_tokens']} prompt and "
        f"{rehearsal['output_tokens']} answer tokens, {rehearsal['plays']} sessions begun, "
        f"{rehearsal['sessions_completed']} completed; {_ends(rehearsal)}"
    )
    print("first requests:")
    for one in found["first_requests"]:
        print(
            f"  {one['due_us'] / 1e6:8.3f} s  {one['phase']:<7} lane {one['lane']}, session {one['session'] + 1}, "
            f"request {one['request']}: {one['input_tokens']} + {one['output_tokens']} tokens, "
            f"{one['body_bytes']} bytes"
        )


def _begins(lane: Mapping[str, Any]) -> str:
    if "start_us" not in lane:
        return f"{lane['requests']} requests from the beginning"
    return (
        f"from {lane['start_us'] / 1e6:.1f} s on, {len(lane['primers'])} primers, "
        f"{lane['skipped']} of {lane['requests']} requests skipped"
    )


def _ends(rehearsal: Mapping[str, Any]) -> str:
    if rehearsal["seconds"] is None:
        return f"the rehearsal stopped {rehearsal['stopped']}"
    return f"over after {rehearsal['seconds']:.1f} s ({rehearsal['stopped']})"
