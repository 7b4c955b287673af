from __future__ import annotations

from typing import Any

import numpy as np

from anonymize.features import INDEX
from anonymize.observing import Observed, observe
from corpus.exchange import Exchange
from tests.anonymize.exchanges import WordTokenizer, assistant, claude_answer, claude_body, exchange, session_of, user

HELLO = claude_answer({"type": "text", "text": "hello there"})


def conversation(turns: int, **more: Any) -> list[Exchange]:
    history: list[Any] = []
    made = []
    for number in range(turns):
        history = [*history, user(f"turn {number}")]
        made.append(exchange(number, claude_body(history, system="be kind", **more), HELLO))
        history = [*history, assistant("hello there")]
    return made


def observed(exchanges: list[Exchange]) -> Observed:
    return observe(exchanges, exchanges, WordTokenizer())


def test_a_request_has_the_size_that_a_corpus_gives_it() -> None:
    exchanges = conversation(5, tools=[{"name": "Bash"}])
    session = session_of(exchanges)
    assert [one.local_tokens for one in observed(exchanges).requests] == [one.input_tokens for one in session.requests]


def test_history_is_one_path_that_grows() -> None:
    seen = observed(conversation(4))
    assert len(seen.nodes) == 1 + 1 + 4 + 3  # hidden prompt, system, user texts, answers between them
    assert [one.tokens for one in seen.requests] == [5] * 4
    assert all(node.before < number for number, node in enumerate(seen.nodes))


def test_features_are_summed_along_the_path() -> None:
    seen = observed(conversation(3, tools=[{"name": "Bash"}]))
    first, *_, last = (one.features for one in seen.requests)
    assert (first[INDEX["hidden_prompt"]], first[INDEX["hidden_tools"]]) == (1, 1)
    assert (last[INDEX["user_pieces"]], last[INDEX["assistant_pieces"]]) == (3, 2)
    assert np.all(last >= first)


def test_a_request_without_a_count_teaches_nothing_and_is_told() -> None:
    events = claude_answer({"type": "text", "text": "x"})
    del events[0]["message"]["usage"]
    seen = observed([exchange(1, claude_body([user("hi")]), events)])
    assert (seen.requests, seen.uncounted) == ((), 1)


def test_private_model_names_are_not_kept() -> None:
    body = {**claude_body([user("hi")]), "model": "acme-secret-1"}
    assert [one.model for one in observed([exchange(1, body, HELLO)]).requests] == ["other"]
