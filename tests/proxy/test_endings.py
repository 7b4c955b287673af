from __future__ import annotations

from dataclasses import replace

import pytest

from corpus.exchange import End
from proxy.endings import Failure, ending_of, unreached_by, words_for

BROKEN = Failure(
    stopping=False,
    client_left=False,
    idle_us=5,
    idle_limit_us=10,
    request_complete=True,
    server_left=False,
    unreached=None,
)


@pytest.mark.parametrize(
    ("failure", "end"),
    [
        (BROKEN, "upstream_reset"),
        (replace(BROKEN, unreached="upstream_refused"), "upstream_refused"),
        (replace(BROKEN, unreached="tls_failed"), "tls_failed"),
        (replace(BROKEN, unreached="timeout"), "timeout"),
        (replace(BROKEN, request_complete=False), "client_abort"),
        (replace(BROKEN, request_complete=False, server_left=True), "upstream_reset"),
        (replace(BROKEN, client_left=True), "client_abort"),
        (replace(BROKEN, client_left=True, unreached="tls_failed"), "client_abort"),
        (replace(BROKEN, client_left=True, idle_us=10), "timeout"),
        (replace(BROKEN, client_left=True, stopping=True, idle_us=10), "proxy_shutdown"),
        (replace(BROKEN, stopping=True), "upstream_reset"),
    ],
)
def test_each_failure_has_its_ending(failure: Failure, end: End) -> None:
    assert ending_of(failure) == end
    assert words_for(end)


def test_a_complete_exchange_needs_no_words() -> None:
    assert words_for("complete") is None


def test_a_connect_that_timed_out_is_no_refusal() -> None:
    assert unreached_by("[Errno 110] Connect call failed ('10.0.0.1', 443)") == "timeout"
    assert unreached_by("[Errno 111] Connect call failed ('127.0.0.1', 9)") == "upstream_refused"
    assert unreached_by(None) == "upstream_refused"
