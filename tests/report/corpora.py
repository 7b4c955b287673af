"""Small random corpora: sessions whose prompts share much, overlap in time and end within, before or after a block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from corpus.session import Session

_prompts = st.lists(st.integers(0, 1), max_size=6)
_request = st.tuples(st.integers(0, 4), st.integers(0, 9), _prompts, st.integers(-70, 70), st.integers(1, 200))
descriptions = st.lists(st.lists(_request, min_size=1, max_size=12), min_size=1, max_size=4)


def corpus_of(make_session: Callable[..., Session], described: list[list[Any]]) -> list[Session]:
    """Each request: pause before its start and length in s, blocks, tokens more than they hold, answer tokens."""
    sessions = []
    for number, requests in enumerate(described):
        start, steps, changes = 0.0, [], {}
        for index, (pause, length, prompt, more, answer) in enumerate(requests):
            start += pause
            steps.append((0, start, start + length))
            changes[index] = {"input_tokens": max(0, 64 * len(prompt) + more), "output_tokens": answer}
        prompts = [prompt for _, _, prompt, _, _ in requests]
        sessions.append(make_session(steps, changes, prompts=prompts, session=number))
    return sessions
