"""Small sessions, a tokenizer of plain words, and a clockless simulation of a whole replay."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpus.blocks import encode_blocks, encode_segments
from corpus.run import SentRequest
from corpus.session import Agent, Edge, Request, Role, Session
from replay.commands import Done, ScheduleRules, Send
from replay.plan import PlanRules, SessionPlan
from replay.rehearse import Answer, Finished, Rehearsed, rehearse
from replay.schedule import Scheduler


@dataclass(frozen=True)
class Asked:
    """One request of a test session: seconds, tokens, block ids."""

    start_s: float
    end_s: float | None
    blocks: tuple[int, ...] = ()
    input_tokens: int | None = None
    output_tokens: int | None = 2
    agent: int = 0
    purpose: str = "turn"
    segments: tuple[tuple[Role, int], ...] | None = None


def edge(src: int, dst: int, delay_s: float, anchor: str = "end", kind: str = "sequence") -> Edge:
    changed: Any = {"anchor": anchor, "kind": kind}
    return Edge(src=src, dst=dst, delay_us=round(delay_s * 1e6), evidence="id", **changed)


def session_of(asked: Sequence[Asked], edges: Sequence[Edge] = (), number: int = 0, block_size: int = 64) -> Session:
    blocks = encode_blocks([list(one.blocks) for one in asked])
    segments = encode_segments([one.segments or () for one in asked], blocks)
    requests = []
    for index, one in enumerate(asked):
        loose: Any = {"purpose": one.purpose, "end": "complete", "api": "anthropic-messages"}
        requests.append(
            Request(
                request=index,
                agent=one.agent,
                position=index,
                stream=True,
                model=0,
                t_start_us=round(one.start_s * 1e6),
                t_first_us=None,
                t_end_us=None if one.end_s is None else round(one.end_s * 1e6),
                status=200,
                retry_of=None,
                stop="",
                input_kinds=(),
                output_kinds=(),
                input_tokens=block_size * len(one.blocks) if one.input_tokens is None else one.input_tokens,
                output_tokens=one.output_tokens,
                usage=None,
                blocks=blocks[index],
                segments=None if one.segments is None else segments[index],
                **loose,
            )
        )
    agents = tuple(
        Agent(agent, None if agent == 0 else 0, "main" if agent == 0 else "subagent")
        for agent in range(max((one.agent for one in asked), default=0) + 1)
    )
    return Session(
        session=number,
        source_format="capture",
        source_dialect=None,
        harness=None,
        harness_version=(),
        block_size=block_size,
        models=("big",),
        agents=agents,
        requests=tuple(requests),
        edges=tuple(edges),
    )


def row_of(**changes: Any) -> SentRequest:
    values: dict[str, Any] = dict.fromkeys((field.name for field in fields(SentRequest)), 0)
    values |= {"phase": "profile", "model": None, "error": None, "status": 200, "root_offset_us": None}
    values |= {"after": (), "after_delay_us": (), "after_anchor": ()}
    values |= {"measured_input_tokens": None, "measured_output_tokens": None}
    values |= {"cached_tokens": None, "predicted_cached_tokens": None}
    return SentRequest(**{**values, **changes})


PLAIN_RULES = PlanRules(idle_cap_us=300_000_000, speedup=1, max_context=None)


@dataclass
class Simulation:
    rows: list[SentRequest]
    scheduler: Scheduler
    done_at_us: int
    done: Done


def simulate(
    plans: Sequence[SessionPlan],
    rules: ScheduleRules,
    took_us: Callable[[Send], int | Answer] = lambda _send: 1_000,
    sending_us: Callable[[Send], int] = lambda _send: 0,
) -> Simulation:
    """Run the scheduler in virtual time against a server that answers after `took_us`; late timers do not occur."""
    scheduler = Scheduler(plans, rules)
    seen: set[tuple[int, int]] = set()

    def answer(send: Send) -> Answer:
        key = (send.play, send.request.request)
        assert key not in seen, "sent twice"
        seen.add(key)
        found = took_us(send)
        return found if isinstance(found, Answer) else Answer(found)

    rows: list[SentRequest] = []
    for one in rehearse(scheduler, answer, sending_us):
        if isinstance(one, Finished):
            assert len(rows) == len(seen), "forgotten"
            return Simulation(sorted(rows, key=lambda row: row.sent_us or 0), scheduler, one.at_us, one.done)
        assert one.send.due_us <= one.started_us, "sent before it was due"
        rows.append(_row(one))
    raise AssertionError("never finished")


def _row(one: Rehearsed) -> SentRequest:
    send, started, ended = one.send, one.started_us, one.ended_us
    return row_of(
        lane=send.lane,
        play=send.play,
        session=send.plan.session,
        request=send.request.request,
        agent=send.request.agent,
        phase=send.phase,
        planned_input_tokens=send.request.input_tokens,
        planned_output_tokens=send.output_tokens,
        after=tuple(wait.src for wait in send.waits),
        after_delay_us=tuple(wait.delay_us for wait in send.waits),
        after_anchor=tuple(wait.anchor for wait in send.waits),
        release_us=send.release_us,
        root_offset_us=send.root_offset_us,
        due_us=send.due_us,
        sent_us=started,
        first_token_us=ended,
        last_token_us=ended,
        end_us=ended,
        status=None if one.error else 200,
        error=one.error if ended is not None else "cut",
        recorded_start_us=send.request.recorded_start_us,
        recorded_end_us=send.request.recorded_end_us,
    )


class WordTokenizer:
    """Ids of 600 words " aa", " ab" ... behind 10 entries that are no words; anything else is one id a character."""

    name = "words"

    def __init__(self, words: int = 600) -> None:
        letters = "abcdefghijklmnopqrstuvwxyz"
        self.entries = [chr(33 + i) for i in range(10)]
        self.entries += [f" {letters[i // 26]}{letters[i % 26]}" for i in range(min(words, 676))]
        self.vocab_size = len(self.entries)
        self._ids = {entry: number for number, entry in enumerate(self.entries)}

    def encode(self, text: str) -> NDArray[np.uint32]:
        ids, at = [], 0
        while at < len(text):
            taken = 3 if text[at : at + 3] in self._ids else 1
            ids.append(self._ids.get(text[at : at + taken], self.vocab_size + ord(text[at])))
            at += taken
        return np.array(ids, dtype=np.uint32)

    def lowercase_words(self) -> list[str]:
        return [entry[1:] for entry in self.entries if len(entry) == 3]

    def token_text(self, token: int) -> str:
        return self.entries[token] if token < self.vocab_size else chr(token - self.vocab_size)
