"""A session as a WEKA object: an import exactly as it came, anything else as strict WEKA (`weka_export`)."""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus.blocks import expand_blocks
from corpus.formats.patch import apply_patch
from corpus.formats.weka_export import export_session, to_seconds
from corpus.formats.weka_shape import Trace
from corpus.session import Request, Session


def session_to_weka(session: Session) -> Trace:
    """The object a session was imported from, or the strict export of a session that was not."""
    if session.source_format != "weka" or session.source is None:
        return export_session(session)
    source = json.loads(session.source)
    groups = {a.agent: json.loads(a.source) for a in session.agents if a.source is not None}
    inner: dict[int, dict[int, Trace]] = {agent: {} for agent in groups}
    top: dict[int, Trace] = {}  # by position, as each group's inner entries
    lists = expand_blocks([request.blocks for request in session.requests])
    for request, ids in zip(session.requests, lists, strict=True):
        offset_us = groups[request.agent]["offset_us"] if request.agent in groups else 0
        entry = request_entry(request, ids.tolist(), session.models, source["always"], offset_us)
        patch = source["patches"].get(str(request.position), {})
        inner.get(request.agent, top)[request.position] = apply_patch(patch, entry)
    for agent, group in groups.items():
        top[group["position"]] = {**group["declared"], "requests": _in_order(inner[agent])}
    declared = {"id": source["id"], "block_size": session.block_size, **source["declared"]}
    return {**declared, "requests": _in_order(top)}


def request_entry(
    request: Request, ids: list[int] | NDArray[np.int64], models: Sequence[str], always: Collection[str], offset_us: int
) -> Trace:
    """A request's entry, `t` counted from `offset_us`; keys that say nothing only when they are in `always`."""
    told: dict[str, Any] = {
        "hash_ids": ids,
        "input_types": list(request.input_kinds),
        "output_types": list(request.output_kinds),
        "stop": request.stop,
        "api_time": _known_seconds(request.recorded_api_us),
        "ttft": _known_seconds(request.recorded_ttft_us),
        "think_time": _known_seconds(request.recorded_think_us),
    }
    return {
        "t": to_seconds(request.t_start_us - offset_us),
        "type": "s" if request.stream else "n",
        "model": models[request.model],
        "in": request.input_tokens,
        "out": request.output_tokens,
        **{key: value for key, value in told.items() if key in always or _says(value)},
    }


def _says(value: Any) -> bool:
    return value is not None and (isinstance(value, float) or len(value) > 0)


def _known_seconds(us: int | None) -> float | None:
    return None if us is None else to_seconds(us)


def _in_order(entries: dict[int, Trace]) -> list[Trace]:
    return [entries[position] for position in sorted(entries)]
