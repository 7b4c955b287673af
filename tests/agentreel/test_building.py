from __future__ import annotations

from typing import Any

from agentreel.building import BuildProgress, BuildSettings, build_sessions
from anonymize.policy import check_record
from corpus.capture.reader import open_captures
from corpus.tokenizer import load_tokenizer


def test_every_exchange_is_a_request_or_counted_with_a_reason(chain: Any) -> None:
    captures = open_captures(chain.captures)
    progress = BuildProgress()
    settings = BuildSettings(load_tokenizer(), block_size=64, max_input_tokens=990_000, keep_aux=False)
    sessions = list(build_sessions(captures, settings, progress))
    kept = sum(len(session.requests) for session in sessions)
    assert kept + progress.rejected.total() == len(list(captures.exchanges(bodies=False)))
    assert progress.sessions_read == len(captures.session_ids())
    assert [session.session for session in sessions] == list(range(len(sessions)))


def test_linked_sessions_hold_only_words_of_the_fixed_lists(chain: Any) -> None:
    settings = BuildSettings(load_tokenizer(), block_size=64, max_input_tokens=990_000, keep_aux=True)
    for session in build_sessions(open_captures(chain.captures), settings, BuildProgress()):
        assert session.edges
        assert check_record(session).total() > 0


def test_prompts_longer_than_the_limit_are_left_out_and_counted(chain: Any) -> None:
    settings = BuildSettings(load_tokenizer(), block_size=64, max_input_tokens=10_000, keep_aux=False)
    progress = BuildProgress()
    sessions = list(build_sessions(open_captures(chain.captures), settings, progress))
    assert max(r.input_tokens for s in sessions for r in s.requests) <= 10_000
    assert progress.rejected["over_max_input_tokens"] > 0
