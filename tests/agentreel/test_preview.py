from __future__ import annotations

import pytest

from agentreel.preview import print_preview

REHEARSAL = {
    "warmup_requests": 22,
    "profile_requests": 100,
    "input_tokens": 5000,
    "output_tokens": 700,
    "plays": 4,
    "sessions_completed": 2,
    "seconds": 61.5,
    "stopped": "duration",
}
LANE = {"lane": 0, "session": 0, "label": "one", "requests": 9}
FOUND = {
    "sessions": 3,
    "corpus_requests": 40,
    "dropped_requests": {"over_context": 4},
    "dropped_share": 0.1,
    "corpus_fingerprint": "abc",
    "seed": 42,
    "lanes": [{**LANE, "start_us": 2_500_000, "primers": [3], "skipped": 3}],
    "rehearsal": REHEARSAL,
    "first_requests": [
        {
            "due_us": 1_000_000,
            "phase": "warmup",
            "lane": 0,
            "session": 0,
            "request": 3,
            "input_tokens": 77,
            "output_tokens": 1,
            "body_bytes": 400,
        }
    ],
}


def said(capsys: pytest.CaptureFixture[str], **changes: object) -> str:
    print_preview({**FOUND, **changes})
    return capsys.readouterr().out


def test_all_that_is_known_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys)
    for words in (
        "4 dropped before sending (10.0%, 4 over context)",
        "corpus abc, seed 42",
        "lane 0: one, from 2.5 s on, 1 primers, 3 of 9 requests skipped",
        "22 requests to warm up, 100 profiled",
        "over after 61.5 s (duration)",
        "1.000 s  warmup  lane 0, session 1, request 3: 77 + 1 tokens, 400 bytes",
    ):
        assert words in text


def test_many_lanes_are_not_all_listed(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, lanes=[LANE] * 50)
    assert "9 requests from the beginning" in text
    assert "and 38 more lanes" in text


def test_rehearsal_that_was_cut_short_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    text = said(capsys, rehearsal={**REHEARSAL, "seconds": None, "stopped": "after 200000 requests"})
    assert "the rehearsal stopped after 200000 requests" in text
