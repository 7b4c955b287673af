from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from anonymize.hearing import Hearing
from corpus.exchange import Exchange, Identity
from tests.anonymize.exchanges import (
    CAPTURES,
    anonymize,
    by_session,
    claude_answer,
    claude_body,
    codex_capture,
    exchange,
    needs_captures,
    user,
)
from tests.anonymize.websockets import over_websocket

HELLO = claude_answer({"type": "text", "text": "hello there"})


def bare(one: Exchange) -> Exchange:
    response = None if one.response is None else replace(one.response, body=b"")
    return Exchange(replace(one.request, body=b""), response)


def test_heads_without_bodies_decide_what_is_a_candidate() -> None:
    good, probe = exchange(1, claude_body([user("hi")]), HELLO), exchange(2, b"", b"", path="/api/hello", method="HEAD")
    hearing = Hearing([bare(good), bare(probe)], keep_aux=False)
    assert [one.exchange for one in hearing.requests([good, probe])] == [good]
    assert hearing.rejected == {"not_generating": 1}


def test_bodies_are_read_one_at_a_time() -> None:
    exchanges = [exchange(at, claude_body([user("hi")]), HELLO) for at in range(4)]
    asked: list[int] = []

    def loaded() -> Iterator[Exchange]:
        for number, one in enumerate(exchanges):
            asked.append(number)
            yield one

    heard = Hearing(map(bare, exchanges), keep_aux=False).requests(loaded())
    next(heard)
    assert len(asked) <= 2  # one more to see that the moment is over


def test_requests_of_one_moment_are_ordered_by_agent_and_arrival() -> None:
    child = Identity(session_id="s", agent_id="a", purpose="turn")
    one = exchange(1, claude_body([user("a")]), HELLO, identity=child, exchange_id="a")
    two = exchange(1, claude_body([user("b")]), HELLO, exchange_id="b")
    three = exchange(1, claude_body([user("c")]), HELLO, exchange_id="c")
    hearing = Hearing([one, two, three], keep_aux=False)
    found = [(heard.exchange.request.exchange_id, heard.position) for heard in hearing.requests([one, two, three])]
    assert found == [("b", 1), ("c", 2), ("a", 0)]


def test_a_count_that_the_providers_tools_added_to_is_no_count_of_the_prompt() -> None:
    page = {"type": "web_search_tool_result", "tool_use_id": "t", "content": []}
    events = claude_answer({"type": "text", "text": "x"})
    events[1:1] = [{"type": "content_block_start", "index": 7, "content_block": page}]
    plain, searched = exchange(1, claude_body([user("hi")]), HELLO), exchange(2, claude_body([user("hi")]), events)
    hearing = Hearing([plain, searched], keep_aux=True)
    assert [one.counted_tokens for one in hearing.requests([plain, searched])] == [5, None]


def test_a_conversation_over_websocket_becomes_the_session_it_would_be_over_http() -> None:
    needs_captures()
    turns = incremental = 0
    for path in sorted((CAPTURES / "codex").glob("*.jsonl")):
        for posted in by_session(codex_capture(path.stem)):
            told = over_websocket(posted)
            over_http, over_ws = anonymize(posted, keep_aux=True), anonymize(told, keep_aux=True)
            assert over_ws.rejected == over_http.rejected, path.stem
            incremental += sum(one.request.previous is not None for one in told)
            if over_http.session is None or over_ws.session is None:
                assert over_http.session is over_ws.session
                continue
            turns += len(over_ws.session.requests)
            same = tuple(replace(one, api="openai-responses") for one in over_ws.session.requests)
            assert {one.api for one in over_ws.session.requests} == {"openai-responses-ws"}
            assert replace(over_ws.session, requests=same) == over_http.session, path.stem
    assert turns > 100
    assert incremental > 60


def test_a_turn_whose_beginning_was_not_recorded_is_counted() -> None:
    needs_captures()
    first, second, *rest = over_websocket(codex_capture("http_loop"))
    assert second.request.previous == first.request.exchange_id
    done = anonymize([second, *rest])
    assert done.session is None
    assert done.rejected == {"history_missing": 1 + len(rest)}


def test_what_two_recorders_heard_at_once_counts_once() -> None:
    body = claude_body([user("hi")])
    first = exchange(1, body, HELLO, end_s=3)
    echo = exchange(1.5, body, HELLO, end_s=2.5, exchange_id="echo")
    again = exchange(4, body, HELLO)
    other = exchange(2, claude_body([user("ho")]), HELLO)
    done = anonymize([first, echo, other, again])
    assert done.session is not None
    assert len(done.session.requests) == 3
    assert done.rejected == {"duplicate": 1}
