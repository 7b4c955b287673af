"""WEKA traces for the reference's rules: one hand-made trace a rule, and random ones that mix all of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any

from corpus.formats.weka_reader import session_from_weka
from corpus.session import Session

Json = dict[str, Any]


def ids(*runs: int | tuple[int, int]) -> list[int]:
    """`ids(100, (5000, 3))`: 0..99, then 5000..5002."""
    spans = [run if isinstance(run, tuple) else (0, run) for run in runs]
    return [first + offset for first, length in spans for offset in range(length)]


def call(
    t: float, api: float | None, blocks: Sequence[int], *, out: int = 100, model: str = "big", **more: Any
) -> Json:
    entry: Json = {"t": t, "type": "s", "model": model, "in": len(blocks) * 64 + 10, "out": out, "hash_ids": blocks}
    return entry | ({} if api is None else {"api_time": api}) | more


def group(agent: str, t: float, end: float | None, calls: Sequence[Json] | None = None) -> Json:
    inner = [call(t, 1.0, ids((9000, 30)))] if calls is None else list(calls)
    return {
        "t": t,
        "type": "subagent",
        "agent_id": agent,
        "subagent_type": "Explore",
        "duration_ms": None if end is None else round((end - t) * 1000),
        "total_tokens": None,
        "tool_use_count": None,
        "status": "async_launched" if end is None else "completed",
        "requests": inner,
        "models": ["big"],
    }


def trace(name: str, *entries: Json) -> Json:
    return {
        "id": name,
        "models": ["big"],
        "block_size": 64,
        "hash_id_scope": "local",
        "tool_tokens": 0,
        "system_tokens": 0,
        "requests": list(entries),
    }


def session(found: Json) -> Session:
    return session_from_weka(found, found["id"], 0)


EDGE_CASES: dict[str, Json] = {
    found["id"]: found
    for found in (
        trace("linear", call(0, 2, ids(400)), call(3, 2, ids(420)), call(9, 1, ids(450))),
        trace("one_request", call(0, 2, ids(40))),
        trace(
            "two_branches_off_one_turn",
            call(0, 10, ids(400)),
            group("a1", 12, 20, [call(12, 8, ids((1000, 30)))]),
            group("a2", 12, 23, [call(12, 11, ids((2000, 30)))]),
            group("a3", 13, 46, [call(13, 33, ids((3000, 30)))]),
            group("a4", 13, 50, [call(13, 37, ids((4000, 30)))]),
            call(25, 5, ids(420)),
            call(52, 4, ids(440)),
        ),
        trace(
            "one_off_joins",
            call(52, 4, ids(440)),
            call(58, 1, ids((9000, 20)), out=8, model="small"),
            call(60, 2, ids(450)),
        ),
        trace("zero_duration_group", call(5, 2, ids(300)), group("zero", 8, 8), call(21, 1, ids(310))),
        trace("group_before_main", group("early", 1, 3), call(5, 2, ids(300)), call(21, 1, ids(310))),
        trace("twice_the_dropped_id", group("a", 1, 3), call(5, 2, ids(300)), group("a", 8, 9), call(21, 1, ids(310))),
        trace(
            "times_from_the_group",
            call(5, 2, ids(300)),
            group("rel", 10, 20, [call(0, 2, ids((1600, 20))), call(5, 2, ids((1600, 25)))]),
            call(21, 1, ids(310)),
        ),
        trace(
            "unknown_duration",
            call(5, 2, ids(300)),
            group("async", 11, None, [call(11, 3, ids((1700, 20))), call(100, 3, ids((1700, 25)))]),
            call(21, 1, ids(310)),
            call(103, 1, ids(320)),
        ),
        trace("outlives_main", call(0, 2, ids(300)), group("long", 3, 90), call(21, 1, ids(310))),
        trace(
            "overlap_and_pull_back",
            call(0, 5, ids(300)),
            call(10, 30, ids(300, (5000, 100)), out=900),
            call(12, 4, ids(300, (6000, 400)), out=5000),
            call(14, 4, ids(300, (7000, 100)), out=5000),
            call(45, 3, ids(300, (5000, 110))),
            call(44, 1, ids(100), out=30),
        ),
        trace("compaction", call(0, 2, ids(400)), call(4, 2, ids(500)), call(8, 2, ids(90, (700, 30)))),
        trace(
            "compaction_then_fork",
            call(0, 2, ids(400)),
            call(4, 2, ids(500)),
            call(8, 2, ids(90, (700, 30))),
            call(9, 9, ids(300, (900, 300)), out=5000),
            call(12, 1, ids(90, (700, 60))),
        ),
        trace("seam_after_an_hour", call(0, 2, ids(400)), call(4000, 2, ids(100, (700, 30)), out=5000)),
        trace("long_seam_that_keeps_half", call(0, 2, ids(400)), call(4000, 2, ids(200, (700, 30)))),
        trace("seam_at_an_hour", call(0, 2, ids(400)), call(3602, 2, ids(100, (700, 30)))),
        trace("model_switch", call(0, 2, ids(400)), call(4, 2, ids(420), model="other"), call(9, 2, ids(440))),
        trace("preamble", call(0, 0.5, ids((800, 6)), out=9), call(1, 3, ids(400)), call(6, 3, ids(420))),
        trace("large_preamble", call(0, 5, ids((800, 500)), out=900), call(9, 3, ids(400)), call(16, 3, ids(420))),
        trace(
            "no_preamble_when_reused",
            call(0, 5, ids((800, 500)), out=900),
            call(9, 3, ids(400, (805, 3))),
            call(16, 3, ids(400, (805, 9))),
        ),
        trace(
            "fan_out",
            call(0, 2, ids(300)),
            *(call(3 + n, 9, ids(290, (1000 * n, 5)), out=5000) for n in range(1, 5)),
            call(30, 2, ids(310)),
        ),
        trace(
            "fan_out_one_after_the_other",
            call(0, 2, ids(300)),
            *(call(3 + 9 * n, 4, ids(290, (1000 * n, 5)), out=5000) for n in range(1, 5)),
            call(60, 2, ids(310)),
        ),
        trace(
            "fan_out_of_longer_prompts",
            call(0, 2, ids(300)),
            *(call(3 + n, 9, ids(290, (1000 * n, 300)), out=5000) for n in range(1, 5)),
            call(30, 2, ids(310)),
        ),
        trace("reduction", call(0, 2, ids(900)), call(3, 9, ids((4000, 800)), out=40), call(20, 2, ids(910))),
        trace("no_duration", call(0, None, ids(300)), call(5, None, ids(310)), call(6, 1, ids(320))),
        trace("no_time_between", call(0, 0, ids(300)), call(0, 0, ids(310)), call(0, 0, ids(320))),
        trace("no_blocks", call(0, 1, []), call(2, 1, ids(40)), call(4, 1, []), call(6, 1, ids(50))),
        trace("no_blocks_at_all", call(0, 1, []), call(0.5, 1, []), call(4, 1, [])),
        trace("out_of_order", call(9, 2, ids(420)), call(0, 2, ids(400)), call(4, 2, ids(410))),
        trace(
            "chains_inside_a_group",
            call(0, 2, ids(300)),
            group(
                "many",
                3,
                30,
                [
                    call(3, 1, ids((990, 3)), out=5),
                    call(5, 2, ids((1000, 300))),
                    call(6, 9, ids((5000, 290)), out=4500),
                    call(8, 3, ids((1000, 310))),
                    call(9, 4, ids((6000, 9)), model="small"),
                    call(20, 4, ids((1000, 330))),
                ],
            ),
            call(40, 2, ids(310)),
        ),
        trace("empty_group", call(0, 2, ids(300)), group("none", 3, 30, []), call(40, 2, ids(310))),
        trace("same_prompt_again", call(0, 2, ids(300)), call(3, 2, ids(300)), call(4, 2, ids(300))),
        trace(
            "touching_by_decimals",
            call(0.1, 0.2, ids(300)),
            call(0.3, 0.1, ids((900, 400)), out=5000),
            call(0.4, 0.3, ids(310)),
            call(0.7, 0.1, ids((900, 410)), out=5000),
        ),
    )
}


def random_trace(name: str, seed: int) -> Json:
    """Extensions, shrinks, forks and fresh prompts at crowded times: nothing that a client would send, but legal."""
    rng = random.Random(seed)
    fresh = count(1_000_000, 1000)
    known: list[list[int]] = [ids(rng.randint(1, 40))]

    def prompt() -> list[int]:
        of = rng.choice(known[-6:])
        keep = rng.choice([len(of), len(of), rng.randint(0, len(of)), 0])
        made = [*of[:keep], *ids((next(fresh), rng.choice([0, 1, rng.randint(1, 300)])))]
        known.append(made)
        return made

    times = _times(rng)
    entries: list[Json] = []
    for number in range(rng.randint(1, 14)):
        if rng.random() < 0.25:
            entries.append(_random_group(rng, f"agent_{number}", times, prompt))
        else:
            entries.append(_random_call(rng, times(), prompt()))
    if not any(entry["type"] == "s" for entry in entries):
        entries.append(_random_call(rng, times(), prompt()))
    return trace(name, *entries)


def _times(rng: random.Random) -> Callable[[], float]:
    now = 0.0

    def later() -> float:
        nonlocal now
        now = max(0.0, now + rng.choice([0, 0.5, 1, 1, 2, 5, rng.random() * 9, 4000 if rng.random() < 0.2 else 3, -1]))
        return round(now, 3)

    return later


def _random_call(rng: random.Random, at_s: float, prompt: list[int]) -> Json:
    api = rng.choice([None, 0, 0.5, 1, 3, round(rng.random() * 8, 3)])
    return call(at_s, api, prompt, out=rng.choice([0, 8, 70, 5000]), model=rng.choice(["big", "big", "big", "small"]))


def _random_group(rng: random.Random, agent: str, times: Callable[[], float], prompt: Callable[[], list[int]]) -> Json:
    start = round(times() + 0.001, 3)  # a group at 0 has no way to say from where its times count
    inner = [_random_call(rng, times(), prompt()) for _ in range(rng.randint(0, 5))]
    for entry in inner:
        entry["t"] = max(entry["t"], start)
    found = group(agent, start, None, inner)
    found["duration_ms"] = rng.choice([None, 0, 1500, rng.randint(0, 20_000)])
    return found
