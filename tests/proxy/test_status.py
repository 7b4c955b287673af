from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

from proxy.status import LIVE_US, is_live, metrics_text, page, size
from proxy.tally import SessionCount
from proxy.totals import Snapshot

NOW_US = 1_700_000_000_000_000
SNAPSHOT = Snapshot(
    open=3,
    backlog_bytes=17,
    counts={
        "requests": 12,
        "dropped": 2,
        "unnamed": 5,
        "end:complete": 9,
        "end:client_abort": 1,
        "gap:disk": 2,
        "refused:401": 4,
    },
    sessions=(
        SessionCount("live-1", "codex", "gpt", {"a", "b"}, 5, 1, 1_500_000, NOW_US - 9_000_000, NOW_US - 2_000_000),
        SessionCount("<script>alert(1)</script>", requests=1, t_last_us=NOW_US - LIVE_US - 1),
    ),
    last_error=(NOW_US, "a record could not be written <OSError>"),
)


def test_metrics_are_in_prometheus_text_format() -> None:
    text = metrics_text(SNAPSHOT, NOW_US)
    for line in text.splitlines():
        assert re.fullmatch(r'# (HELP|TYPE) agentreel_\w+ .+|agentreel_\w+(\{\w+="\w+"\})? \d+', line), line
    assert text.endswith("\n")
    for line in (
        "agentreel_requests_total 12",
        "agentreel_exchanges_in_flight 3",
        'agentreel_exchanges_ended_total{end="client_abort"} 1',
        'agentreel_gaps_total{cause="disk"} 2',
        'agentreel_refused_requests_total{status="401"} 4',
        "agentreel_unnamed_records_total 5",
        "agentreel_sessions_live 1",
        "agentreel_sessions_finished 1",
    ):
        assert line in text.splitlines()


class Text(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


def test_page_tells_sessions_and_trouble_and_runs_nothing() -> None:
    reader = Text()
    reader.feed(page(SNAPSHOT, NOW_US))
    words = " ".join(reader.words)
    for told in ("1 live sessions", "1 finished sessions", "live-1", "3 in flight", "9 complete", "1.5 MB", "2 s ago"):
        assert told in words
    for trouble in (
        "2 records lost their body",
        "gap: 2 disk",
        "4 refused with 401",
        "5 records are stored as",
        "could not be written <OSError>",
    ):
        assert trouble in words
    assert "script" not in reader.tags
    assert "<script>alert(1)</script>" in words


def test_page_offers_the_switch_that_fits() -> None:
    assert 'action="/pause"' in page(Snapshot(), NOW_US)
    assert 'action="/resume"' in page(Snapshot(paused=True), NOW_US)


def test_a_session_with_something_in_flight_is_live_however_long_it_takes() -> None:
    assert is_live(SessionCount("s", open=1, t_last_us=0), NOW_US)
    assert not is_live(SessionCount("s", open=0, t_last_us=0), NOW_US)


@pytest.mark.parametrize(("number", "words"), [(0, "0 B"), (999, "999 B"), (1500, "1.5 kB"), (10**15, "1000.0 TB")])
def test_sizes(number: int, words: str) -> None:
    assert size(number) == words
