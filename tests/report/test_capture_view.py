from __future__ import annotations

from dataclasses import replace
from typing import Any

from corpus.exchange import Exchange, Identity, RequestRecord, ResponseRecord
from report.capture_view import view_captures
from tests.report.listed import listed
from wire.usage import Usage

S = 1_000_000
WHO = Identity(session_id="s", purpose="turn", harness="claude-code")


def _exchange(name: str, start: int, end: int | None, *, retry_of: str | None = None, **who: Any) -> Exchange:
    request = RequestRecord(
        exchange_id=name,
        t_request_us=start * S,
        t_body_us=start * S,
        method="POST",
        path="/v1/messages",
        api="anthropic-messages",
        upstream="http://127.0.0.1:1",
        headers=(),
        identity=replace(WHO, **who),
        retry_of=retry_of,
        body_bytes=100,
        body=b"",
    )
    if end is None:
        return Exchange(request, None)
    usage = Usage(input_tokens=1000, cache_read_tokens=600, output_tokens=5)
    return Exchange(
        request,
        ResponseRecord(
            exchange_id=name,
            end="complete",
            status=200,
            headers=(),
            t_headers_us=start * S,
            t_first_byte_us=start * S + 1,
            t_end_us=end * S,
            chunk_sizes=(),
            chunk_times_us=(),
            usage=usage,
            error=None,
            body_bytes=10,
            body=b"",
        ),
    )


def test_sessions_come_in_order_of_their_first_exchange() -> None:
    view = listed(
        view_captures("c", {}, [_exchange("b", 5, 6), _exchange("a", 0, 1, session_id=None), _exchange("c", 7, 9)])
    )
    assert [row[0] for row in view["rows"]] == ["(no session id)", "s"]
    assert view["rows"][1][2:6] == [2, 1, 0, 4 * S]


def test_agents_get_lanes_below_their_parents() -> None:
    exchanges = [
        _exchange("a", 0, 1),
        _exchange("b", 1, 2, agent_id="x"),
        _exchange("c", 2, 3, agent_id="y", parent_agent_id="x"),
        _exchange("d", 3, 4, agent_id="z", parent_agent_id="never heard"),
    ]
    view = listed(view_captures("c", {}, exchanges))
    assert view["views"][0]["lanes"] == [["main", 0], ["x", 1], ["y", 2], ["z", 1]]
    assert view["sheet"]["bars"]["lane"] == [0, 1, 2, 3]


def test_unanswered_and_retried_exchanges_are_seen() -> None:
    view = listed(view_captures("c", {}, [_exchange("a", 0, None), _exchange("b", 2, 3, retry_of="a")]))
    links = view["sheet"]["links"]
    assert (links["dst"], links["back"], links["delay"]) == ([1], [1], [None])
    assert view["sheet"]["bars"]["tone"]["words"] == ["failed", "main"]
    assert view["notes"] == ["exchanges that ended with unknown: 1"]


def test_cache_share_follows_the_provider() -> None:
    numbers = {title: value for title, value, _ in listed(view_captures("c", {}, [_exchange("a", 0, 1)]))["numbers"]}
    assert numbers["read from the provider's cache"] == "60.0 %"


def test_the_session_with_most_exchanges_is_opened_first_and_not_what_has_no_session() -> None:
    nameless = [_exchange(f"n{n}", n, n + 1, session_id=None) for n in range(3)]
    view = listed(
        view_captures(
            "c", {}, [*nameless, _exchange("a", 5, 6, session_id="small"), _exchange("b", 6, 7), _exchange("c", 8, 9)]
        )
    )
    assert view["rows"][view["opened"]][0] == "s"
    assert listed(view_captures("c", {}, nameless))["opened"] == 0
