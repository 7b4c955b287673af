"""Asks the server before a run: does it serve the model at all, and what does its chat template add?

One tiny request comes first, so that a server that cannot serve the run says so in its own words. Where prompts go out
as text, a few more tell what `replay.framing` wants to know, all at once. What a server refuses, or takes and does not
count, goes out as text of who it does take (`replay.items`), so that a chat template with stricter manners answers the
run and not every request with an error; that it counts nothing at all is told and costs exactness only.
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
from replay.items import INSTEAD, Item, Kind, Manners
from replay.server import unreachable
from replay.settings import ReplaySettings, without_credentials
from replay.transport import Outcome, Transport

_FIRST_TOKENS: Final = 8
_TIMEOUT_S: Final = 120.0
_CALL: Final[tuple[Kind, ...]] = ("user", "call", "result")  # the smallest with a call
_SYSTEM: Final[tuple[Kind, ...]] = ("system", "user")
_ANSWER: Final[tuple[Kind, ...]] = ("user", "assistant", "user")
_NO_TIME: Final = (None, 429, 503)  # no answer at all, or one about the server and not about what was asked
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
        endpoint = ENDPOINTS[self._settings.endpoint]
        body = request_body(endpoint, self._settings.model, endpoint.lay_out(laid), 1, self._fields)
        await self._transport.send(body, outcome, lambda _at_us: None)
        return outcome

    async def ask_all(self, asked: Sequence[tuple[tuple[Kind, ...], list[int]]]) -> list[Outcome]:
        """At once; what fails is asked once more, alone. InputError when the server has no time for them even then."""
        outcomes = await asyncio.gather(*(self.ask(*one) for one in asked))
        for number, one in enumerate(asked):
            if outcomes[number].error is not None:
                outcomes[number] = await self.ask(*one)
            if outcomes[number].error is not None and outcomes[number].status in _NO_TIME:
                where = without_credentials(self._settings.url)
                raise InputError(where, f"answers no test requests ({outcomes[number].detail})", "try again later")
        return outcomes


def _check(first: Outcome, settings: ReplaySettings) -> None:
    if first.error is None:
        return
    if first.status is None:
        raise unreachable(settings.url, first.detail)
    raise InputError(
        without_credentials(settings.url),
        f"refused a test request for model {settings.model!r} (HTTP {first.status}): {first.detail}",
        "check --model, --endpoint and --header",
    )


async def _learn(prober: _Prober, first: Outcome, kinds: frozenset[Kind]) -> Framing:
    probes = [probe for probe in probes_for(kinds) if probe != ("user",)]
    asked = [(probe, [PROBE_TOKENS] * len(probe)) for probe in probes]
    large = [(_CALL, [PROBE_TOKENS, LARGE_TOKENS, PROBE_TOKENS]), (_CALL, [PROBE_TOKENS, PROBE_TOKENS, LARGE_TOKENS])]
    asked += large if _CALL in probes else []
    outcomes = await prober.ask_all(asked)
    if _counted(first) is None:
        _log.warning("the server counts no prompt tokens, so what its chat template adds is not known")
        taken = {probe for (probe, _), outcome in zip(asked, outcomes, strict=True) if outcome.error is None}
        manners = _manners(set(probes) - taken)
        _tell(manners)
        return Framing(manners=manners)
    heard = [
        Heard(probe, sum(sizes), tokens)
        for (probe, sizes), outcome in zip([(("user",), [_FIRST_TOKENS]), *asked], [first, *outcomes], strict=True)
        if (tokens := _counted(outcome)) is not None
    ]
    calls = {one.added_tokens for one in heard if one.kinds == _CALL}
    manners = _manners(set(probes) - {one.kinds for one in heard}, counts_calls=len(calls) <= 1)
    _tell(manners)
    framing = learn([one for one in heard if not manners.refused & set(one.kinds)], manners)
    if framing.off_by:
        _log.warning("what the chat template adds is irregular; prompts may be off by %g tokens", framing.off_by)
    return framing


def _tell(manners: Manners) -> None:
    for kind in sorted(manners.refused):
        _log.warning("the server does not take or count every %s; they go out as text of the %s", kind, INSTEAD[kind])
    if manners.user_opens:
        _log.warning("the server takes no conversation that the assistant opens; such words go out as the user's")


def _manners(missing: set[tuple[Kind, ...]], *, counts_calls: bool = True) -> Manners:
    """`missing`: probes that were not taken; `counts_calls`: one to one, where they were."""
    refused: set[Kind] = set()
    if _SYSTEM in missing:
        refused.add("system")
        missing = {probe for probe in missing if "system" not in probe}
    if _ANSWER in missing:
        refused.add("assistant")
    opened = {probe for probe in missing if _opens(probe) != "user"}
    if not counts_calls or "assistant" in refused or any("call" in probe for probe in missing - opened):
        refused |= {"call", "result"}
    return Manners(frozenset(refused), user_opens=any(not refused & set(probe) for probe in opened))


def _opens(probe: Sequence[Kind]) -> Kind:
    return probe[probe[0] == "system"]


def _counted(outcome: Outcome) -> int | None:
    return outcome.usage.input_tokens if outcome.error is None and outcome.usage else None
