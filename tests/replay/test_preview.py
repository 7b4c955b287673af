from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import replay.content_pool
from corpus.errors import InputError
from replay.fixed import fixed_session
from replay.preview import preview
from replay.rehearse import as_recorded
from replay.run_plan import plan_run
from replay.schedule import Scheduler
from replay.settings import ReplaySettings
from tests.replay.rehearsal import Asked, WordTokenizer, edge, session_of, simulate

SETTINGS = ReplaySettings(
    "http://127.0.0.1:1", "m", Path("out"), "words", concurrency=2, duration_s=60, fingerprint="f", grace_s=0
)
LONG = session_of(
    [Asked(3.0 * n, 3.0 * n + 1, tuple(range(n + 1))) for n in range(20)], [edge(n, n + 1, 2) for n in range(19)]
)


@pytest.fixture(autouse=True)
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay.content_pool, "load_tokenizer", lambda _name, **_how: WordTokenizer())


def test_lanes_and_sums_are_those_of_the_schedule() -> None:
    found = preview([LONG], SETTINGS)
    planned = plan_run([LONG], SETTINGS)
    run = simulate(planned.plans, planned.rules, as_recorded)
    rehearsal = found["rehearsal"]
    assert rehearsal["warmup_requests"] == sum(row.phase == "warmup" for row in run.rows)
    assert rehearsal["profile_requests"] == sum(row.phase == "profile" for row in run.rows)
    assert rehearsal["input_tokens"] == sum(row.planned_input_tokens for row in run.rows)
    assert (rehearsal["stopped"], rehearsal["seconds"]) == ("duration", run.done_at_us / 1e6)
    for lane in found["lanes"]:
        first = next(row.request for row in run.rows if row.play == lane["lane"] and row.phase == "warmup")
        assert lane["primers"] == [first]
        assert lane["skipped"] == first
    assert Scheduler(planned.plans, planned.rules).completed_plays == set()


def test_first_requests_come_with_their_bodies_and_repeat_exactly() -> None:
    found = preview([LONG], SETTINGS)
    assert len(found["first_requests"]) == 10
    assert [one["phase"] for one in found["first_requests"][:2]] == ["warmup", "warmup"]
    assert all(one["body_bytes"] > one["input_tokens"] for one in found["first_requests"])
    assert found == preview([LONG], SETTINGS)
    assert found["first_requests"] != preview([LONG], replace(SETTINGS, seed=7))["first_requests"]


def test_dropped_share_is_told() -> None:
    found = preview([LONG], replace(SETTINGS, max_context=10 * 64 + 2))
    assert found["dropped_requests"] == {"over_context": 10}
    assert (found["dropped_share"], found["corpus_requests"], found["corpus_fingerprint"]) == (0.5, 20, "f")


def test_what_a_run_would_refuse_is_refused() -> None:
    with pytest.raises(InputError, match="--concurrency"):
        preview([LONG], replace(SETTINGS, concurrency=0))


def test_endless_source_is_rehearsed_up_to_the_number_asked_for() -> None:
    asked = replace(SETTINGS, warmup="none", repeats=True, requests=25)
    found = preview([fixed_session("fixed:100,10")], asked)
    assert (found["rehearsal"]["profile_requests"], found["rehearsal"]["stopped"]) == (25, "requests")
    digests = {one["body_digest"] for one in found["first_requests"]}
    assert len(digests) == 10
    assert all(len(digest) == len(hashlib.blake2b(digest_size=16).hexdigest()) for digest in digests)


def test_sessions_that_arrive_by_their_clock_have_no_lanes() -> None:
    clocked: Any = replace(LONG, source='{"id": "x", "t0_us": 5}')
    found = preview([clocked], replace(SETTINGS, warmup="none", open_loop=True))
    assert found["lanes"] == []
    assert found["rehearsal"]["profile_requests"] == 20


def test_first_requests_say_all_that_goes_with_the_prompt_and_no_secret() -> None:
    asked = replace(SETTINGS, engine="dynamo", hints=frozenset({"length"}), headers={"Authorization": "Bearer key"})
    (first, *_) = preview([LONG], asked)["first_requests"]
    assert first["path"] == "/v1/completions"
    assert first["headers"] == {
        "Authorization": "...",
        "X-Dynamo-Session-ID": f"agentreel-42-{first['play']}-0",
        "x-agentreel-length": str(first["output_tokens"]),
    }
    assert first["fields"]["nvext"] == {"agent_hints": {"osl": first["output_tokens"]}}
    assert first["fields"]["min_tokens"] == first["fields"]["max_tokens"] == first["output_tokens"]
    assert not first["fields"].keys() & {"prompt", "messages"}
