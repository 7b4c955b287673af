"""Which sessions are forks of one another, and how a family of them is heard as one session.

`claude --fork-session` and `codex fork` copy a conversation into a new session: new id, same history. Block numbers are
a session's own, so the shared history would lose its sharing if both were worked on alone. A family is one session of
the corpus: the oldest member's main agent is main, and every other member's becomes an agent of kind "fork".

Codex names the thread it copied. Else the evidence is the text itself: the first prompt of the fork begins with the
whole first prompt of its parent and goes on with what the parent was answered. A session that starts from nothing
begins with no answer, so two sessions with the same first words never join, whatever they were told. Digests of text
stay in memory. A Claude Code session forked after a compaction begins with the summary and is not recognised.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Final

from anonymize.hearing import Heard, Hearing
from anonymize.segments import placed_parts
from corpus.exchange import Exchange, Identity
from wire.encoding import decode_body
from wire.errors import WireError
from wire.facts import peek_request
from wire.jsonbody import parse_object, string
from wire.shapes import Part, PartKind

_ANSWERS: Final[frozenset[PartKind]] = frozenset({"assistant", "tool_call"})
_SEALED: Final[frozenset[PartKind]] = frozenset({"thinking", "opaque", "billing"})  # left out: they may be dropped
_FORK: Final = "fork of "
_CODEX_METADATA: Final = "x-codex-turn-metadata"

type SessionId = str | None
type Answered = tuple[bytes, ...]  # identities of the parts of one answer


@dataclass(frozen=True, slots=True)
class Opening:
    """How a session's main conversation begins."""

    session_id: SessionId
    t_us: int
    prompt: bytes  # digest of its first prompt
    answer: Answered
    forked_from: str | None  # session, as the client says
    history: Mapping[bytes, Answered]  # digest of each beginning of that prompt which an answer follows -> the answer


def find_opening(exchanges: Iterable[Exchange]) -> Opening | None:
    """Of a session's exchanges in order of their answers; takes no more of them than it needs, and holds those.

    An answer that broke off is the opening only if none follows that did not.
    """
    taken: list[Exchange] = []
    found: Opening | None = None
    for exchange in exchanges:
        taken.append(exchange)
        if _is_main_turn(exchange) and (heard := _heard(exchange, taken)) is not None:
            found = found or _read_opening(heard)
            if exchange.end == "complete":
                return _read_opening(heard)
    return found


def _is_main_turn(exchange: Exchange) -> bool:
    identity = exchange.request.identity
    return identity.agent_id is None and identity.purpose == "turn"


def _heard(exchange: Exchange, taken: Sequence[Exchange]) -> Heard | None:
    """A turn on a WebSocket may go on from another one before it, so all that came before is heard with it."""
    ordered = sorted(taken, key=lambda one: one.request.t_request_us)
    heard = Hearing(ordered, keep_aux=False).requests(ordered)
    return next((one for one in heard if one.exchange is exchange), None)


def _read_opening(heard: Heard) -> Opening:
    parts = [part for _, part in placed_parts(heard.prompt)]
    state = blake2b(digest_size=16)
    history: dict[bytes, Answered] = {}
    for number, part in enumerate(parts):
        if part.kind in _ANSWERS and number and parts[number - 1].kind not in _ANSWERS:
            history[state.digest()] = tuple(_identities(parts[number:]))
        if part.kind not in _SEALED:
            state.update(_identity(part))
    request = heard.exchange.request
    answer = tuple(_identity(part) for part in heard.answer.parts if part.kind in _ANSWERS)
    return Opening(
        request.identity.session_id, request.t_request_us, state.digest(), answer, _forked_from(heard.exchange), history
    )


def group_families(openings: Iterable[Opening]) -> list[tuple[SessionId, ...]]:
    """Families of two or more, each by time with its root first."""
    ordered = sorted(openings, key=lambda one: (one.t_us, one.session_id or ""))
    by_prompt: dict[bytes, list[Opening]] = {}
    family_of: dict[SessionId, list[SessionId]] = {}
    for one in ordered:
        parent = one.forked_from if one.forked_from in family_of else _parent(one, by_prompt)
        family = [] if parent is None else family_of[parent]
        family.append(one.session_id)
        family_of[one.session_id] = family
        by_prompt.setdefault(one.prompt, []).append(one)
    return [
        tuple(family) for family in {id(family): family for family in family_of.values()}.values() if len(family) > 1
    ]


def as_member(exchange: Exchange, root: SessionId) -> Exchange:
    """The exchange as the family's session has it: unchanged for the root's own."""
    identity = exchange.request.identity
    if identity.session_id == root:
        return exchange
    return Exchange(replace(exchange.request, identity=_as_fork(identity)), exchange.response)


def _as_fork(identity: Identity) -> Identity:
    main = f"{_FORK}{identity.session_id}"
    if identity.agent_id is None:
        return replace(identity, agent_id=main, agent_kind="fork", parent_agent_id=None)
    if identity.parent_agent_id in (None, identity.session_id):
        return replace(identity, parent_agent_id=main)
    return identity


def _parent(one: Opening, by_prompt: Mapping[bytes, Sequence[Opening]]) -> SessionId:
    """The session whose first exchange is the longest beginning of this one's history; the latest of equals."""
    for beginning, answer in reversed(list(one.history.items())):
        for earlier in reversed(by_prompt.get(beginning, ())):
            if earlier.answer and earlier.answer == answer[: len(earlier.answer)]:
                return earlier.session_id
    return None


def _forked_from(exchange: Exchange) -> str | None:
    """The thread that Codex says it copied; main threads carry their session's id."""
    headers = {name.lower(): value for name, value in exchange.request.headers}
    body = decode_body(exchange.request.body, headers.get("content-encoding"))
    told = peek_request(exchange.request.api, body).client_metadata.get(_CODEX_METADATA)
    try:
        metadata = parse_object((told or "").encode(errors="replace"))
    except WireError:
        return None
    return string(metadata.get("forked_from_thread_id"))


def _identities(parts: Sequence[Part]) -> Iterator[bytes]:
    """Of the answer that these parts begin with."""
    for part in parts:
        if part.kind in _ANSWERS:
            yield _identity(part)
        elif part.kind not in _SEALED:
            return


def _identity(part: Part) -> bytes:
    """What a part is recognised by: a call by its id, since clients add to its arguments; anything else by content."""
    content = part.call_id if part.kind == "tool_call" and part.call_id else part.digest or part.text
    return blake2b(f"{part.kind}\0{content}".encode("utf-8", "surrogatepass"), digest_size=16).digest()
