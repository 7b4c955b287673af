from __future__ import annotations

from itertools import count

import pytest

from corpus.exchange import ResponseRecord
from proxy.assembler import Record, RequestBody, RequestHead
from proxy.hearing import BROKEN, Hearing

HEAD = RequestHead("e1", 1, "POST", "/v1/messages", "anthropic-messages", "u", ())


def heard() -> tuple[Hearing, list[Record]]:
    told: list[Record] = []
    ticks = count(2)
    hearing = Hearing(told.append, lambda: next(ticks), lambda t_us: f"e{t_us}", 10**9)
    hearing.begin("key", HEAD, "client")
    return hearing, told


def endings(told: list[Record]) -> list[tuple[str, str | None]]:
    return [(record.end, record.error) for record in told if isinstance(record, ResponseRecord)]


def fail() -> None:
    raise RuntimeError("secret words")


def test_a_fault_while_listening_is_counted_and_spoils_its_exchange_only(caplog: pytest.LogCaptureFixture) -> None:
    hearing, told = heard()
    hearing.begin("other", HEAD, "client")
    assert not hearing.guarded("key", fail)
    assert not hearing.guarded("", fail)
    hearing.end("key", "complete")
    hearing.end("other", "complete")
    assert endings(told) == [("complete", BROKEN), ("complete", None)]
    assert hearing.failures == 2
    assert "secret" not in caplog.text


def test_a_fault_of_whoever_takes_records_does_not_reach_the_caller() -> None:
    hearing, _ = heard()
    hearing._tell = lambda _record: fail()
    hearing.end("key", "complete")
    assert hearing.open == {}
    assert hearing.failures == 1


@pytest.mark.parametrize(
    ("complete", "client_left", "stopping", "end"),
    [
        (True, True, False, "client_abort"),
        (True, False, False, "upstream_reset"),
        (True, True, True, "proxy_shutdown"),
        (False, False, False, "client_abort"),
    ],
)
def test_what_breaks_off_ends_for_the_reason_that_fits(
    complete: bool, client_left: bool, stopping: bool, end: str
) -> None:
    hearing, told = heard()
    hearing.open["key"].request_complete = complete
    hearing.stopping = stopping
    hearing.break_off("key", client_left=client_left)
    hearing.break_off("key", client_left=client_left)
    assert [ending for ending, _ in endings(told)] == [end]


def test_an_upstream_that_was_never_reached_is_told_by_its_own_reason() -> None:
    hearing, told = heard()
    hearing.open["key"].request_complete = True
    hearing.unreached["client"] = "tls_failed"
    hearing.break_off("key", client_left=False)
    assert [ending for ending, _ in endings(told)] == ["tls_failed"]


def test_all_exchanges_of_a_client_that_left_end_and_no_others() -> None:
    hearing, told = heard()
    hearing.begin("second", HEAD, "client")
    other = hearing.begin("third", HEAD, "another client")
    hearing.hear(other, RequestBody(3, b""))
    hearing.break_off_all("client", client_left=True)
    assert list(hearing.open) == ["third"]
    assert len(endings(told)) == 2
