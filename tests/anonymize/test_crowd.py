from __future__ import annotations

from dataclasses import replace

from anonymize.audit.strings import find_unlisted
from anonymize.contributions import Contributions
from anonymize.crowd import RARE_HEAD_STEP_TOKENS, Crowd
from anonymize.public import public_session
from corpus.blocks import expand_segments
from corpus.session import Session
from tests.anonymize.exchanges import WordTokenizer, claude_answer, claude_body, exchange, session_of, user

TOKENIZER = WordTokenizer()
COMMON, RARE = "claude-opus-5-5", "gpt-5.5"


def session(number: int, *models: str, system: int = 300, version: tuple[int, ...] = (2, 1)) -> Session:
    made = session_of(
        [
            exchange(n, claude_body([user(f"hi {n}")], model=model, system="word " * (system // 2)), claude_answer())
            for n, model in enumerate(models)
        ],
        TOKENIZER,
        number=number,
    )
    return public_session(replace(made, harness_version=version))


def blended(sessions: list[Session], contributors: tuple[int | None, ...] = ()) -> list[Session]:
    crowd = Crowd(Contributions(contributors, ()))
    for one in sessions:
        crowd.add(one)
    return [crowd.blend(one) for one in sessions]


def test_a_model_that_few_sessions_have_becomes_other() -> None:
    made = blended([*(session(n, COMMON) for n in range(5)), session(5, COMMON, RARE)])
    assert [one.models for one in made] == [(COMMON,)] * 5 + [(COMMON, "other")]
    assert [request.model for request in made[5].requests] == [0, 1]


def test_two_rare_models_of_a_session_become_one() -> None:
    made = blended([*(session(n, COMMON) for n in range(5)), session(5, RARE, COMMON, "gpt-6")])
    assert made[5].models == ("other", COMMON)
    assert [request.model for request in made[5].requests] == [0, 1, 0]


def test_people_count_not_sessions_where_they_are_known() -> None:
    sessions = [*(session(n, COMMON) for n in range(6)), *(session(n, RARE) for n in range(6, 12))]
    assert {one.models for one in blended(sessions)} == {(COMMON,), (RARE,)}
    people = (0, 1, 2, 3, 4, 5, 0, 0, 1, 1, 2, None)
    assert {one.models for one in blended(sessions, people)} == {(COMMON,), ("other",)}


def test_what_all_have_tells_nobody_apart() -> None:
    sessions = [session(0, COMMON), session(1, COMMON)]
    assert blended(sessions) == sessions


def test_a_rare_version_goes_and_a_rare_harness_takes_its_version_with_it() -> None:
    sessions = [session(n, COMMON) for n in range(7)]
    sessions[5] = replace(sessions[5], harness_version=(2, 7))
    sessions[6] = replace(sessions[6], harness="aider", harness_version=(1,))
    made = blended(sessions)
    assert [(one.harness, one.harness_version) for one in made[4:]] == [
        ("claude-code", (2, 1)),
        ("claude-code", ()),
        ("other", ()),
    ]


def test_a_rare_size_of_the_head_is_told_in_coarser_steps() -> None:
    sessions = [*(session(n, COMMON) for n in range(5)), session(5, COMMON, system=9_000)]
    made = blended(sessions)
    assert made[:5] == sessions[:5]
    (before, after) = (expand_segments(one.requests)[0] for one in (sessions[5], made[5]))
    assert before[0] == ("system", 8_960)
    assert after[0] == ("system", 2 * RARE_HEAD_STEP_TOKENS)
    assert sum(tokens for _, tokens in before) == sum(tokens for _, tokens in after)
    assert find_unlisted(made[5], public=True) is None
