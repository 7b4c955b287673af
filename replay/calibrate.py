"""Asks the server before a run: does it serve the model at all, and what does its chat template add?

One tiny request comes first, so that a server that cannot serve the run says so in its own words. Where prompts go out
as text, a few more tell what `replay.framing` wants to know, all at once. What a server refuses, or takes and does not
count, goes out as text instead; that it counts nothing at all is told and costs exactness only.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any, Final

from corpus.errors import InputError
from replay.connection import Clock
from replay.content import Material
from replay.endpoints import ENDPOINTS, request_body
from replay.framing import LARGE_TOKENS, NO_FRAMING, PROBE_TOKENS, Framing, Heard, learn, probes_for
from replay.items import INSTEAD, Item, Kind
from replay.settings import ReplaySettings, without_credentials
from replay.transport import Outcome, Transport

_FIRST_TOKENS: Final = 8
_TIMEOUT_S: Final = 120.0
_CALL: Final[tuple[Kind, ...]] = ("user", "call", "result")  # the smallest with a call
_SYSTEM: Final[tuple[Kind, ...]] = ("system", "user")
_log = logging.getLogger(__name__)


async def calibrate(
    material: Material, settings: ReplaySettings, fields: Mapping[str, Any], kinds: frozenset[Kind]
) -> Framing:
    """`fields`: of the body, besides the prompt; `kinds`: of items that the run has.

    InputError when the first request fails.
    """
    timeout_s = min(_TIMEOUT_S, settings.request_timeout_s)
    endpoint = ENDPOINTS[settings.endpoint]
    async with Transport(settings.url, endpoint, settings.headers, timeout_s, Clock()) as transport:
        prober = _Prober(transport, material, settings, fields)
        first = await prober.ask(("user",), [_FIRST_TOKENS])
        _check(first, settings)
        if endpoint.form == "ids":
            return NO_FRAMING
        return await _learn(prober, first, kinds)


class _Prober:
    def __init__(
        self, transport: Transport, material: Material, settings: ReplaySettings, fields: Mapping[str, Any]
    ) -> None:
        self._transport = transport
        self._material = material
        self._settings = settings
        self._fields = fields

    async def ask(self, kinds: Sequence[Kind], sizes: Sequence[int]) -> Outcome:
        laid = []
        calls = [number for number, kind in enumerate(kinds) if kind == "call"]
        for number, (kind, size) in enumerate(zip(kinds, sizes, strict=True)):
            call = number if kind == "call" else calls.pop(0) if kind == "result" else 0
            (text,) = self._material.write([f"probe {number}"], [size], flat=True)
            laid.append((Item(kind, 0, size, call), text))
        outcome = Outcome()
        body = request_body(ENDPOINTS[self._settings.endpoint], self._settings.model, laid, 1, self._fields)
        await self._transport.send(body, outcome, lambda _at_us: None)
        return outcome


def _check(first: Outcome, settings: ReplaySettings) -> None:
    if first.error is None:
        return
    where = without_credentials(settings.url)
    if first.status is None:
        raise InputError(where, f"cannot reach the server ({first.detail})", "start it or check --url")
    raise InputError(
        where,
        f"refused a test request for model {settings.model!r} (HTTP {first.status}): {first.detail}",
        "check --model, --endpoint and --header",
    )


async def _learn(prober: _Prober, first: Outcome, kinds: frozenset[Kind]) -> Framing:
    counted = _counted(first)
    if counted is None:
        _log.warning("the server counts no prompt tokens, so what its chat template adds is not known")
        return NO_FRAMING
    probes = [probe for probe in probes_for(kinds) if probe != ("user",)]
    asked = [(probe, [PROBE_TOKENS] * len(probe)) for probe in probes]
    large = [(_CALL, [PROBE_TOKENS, LARGE_TOKENS, PROBE_TOKENS]), (_CALL, [PROBE_TOKENS, PROBE_TOKENS, LARGE_TOKENS])]
    asked += large if _CALL in probes else []
    outcomes = await asyncio.gather(*(prober.ask(*one) for one in asked))
    heard = [Heard(("user",), _FIRST_TOKENS, counted)]
    heard += [
        Heard(probe, sum(sizes), tokens)
        for (probe, sizes), outcome in zip(asked, outcomes, strict=True)
        if (tokens := _counted(outcome)) is not None
    ]
    refused = _refused(heard, frozenset(kind for probe in probes for kind in probe))
    for kind in sorted(refused):
        _log.warning("the server does not count every %s as sent; they go out as text of the %s", kind, INSTEAD[kind])
    framing = learn([one for one in heard if not refused & set(one.kinds)], refused)
    if framing.off_by:
        _log.warning("what the chat template adds is irregular; prompts may be off by %g tokens", framing.off_by)
    return framing


def _refused(heard: Sequence[Heard], kinds: frozenset[Kind]) -> frozenset[Kind]:
    """Kinds the server does not take, or whose content it does not count one to one."""
    refused: set[Kind] = set()
    if "system" in kinds and not any(one.kinds == _SYSTEM for one in heard):
        refused.add("system")
    calls = [one.added_tokens for one in heard if one.kinds == _CALL]
    if "call" in kinds and (len(calls) < 3 or len(set(calls)) > 1):
        refused |= {"call", "result"}
    return frozenset(refused)


def _counted(outcome: Outcome) -> int | None:
    return outcome.usage.input_tokens if outcome.error is None and outcome.usage else None
