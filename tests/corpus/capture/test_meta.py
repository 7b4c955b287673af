from __future__ import annotations

from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.capture.meta import (
    dump_gap,
    dump_json,
    dump_request,
    dump_response,
    load_gap,
    load_json,
    load_request,
    load_response,
)
from corpus.exchange import (
    AgentKind,
    End,
    GapCause,
    GapRecord,
    Identity,
    Mode,
    Purpose,
    RequestRecord,
    ResponseRecord,
)
from wire.api import Api
from wire.usage import Usage

texts = st.text(alphabet=st.characters(exclude_categories=[]))  # lone surrogates too
ids = st.none() | texts
times = st.integers(0, 2**63 - 1)
counts = st.none() | times
headers = st.lists(st.tuples(texts, texts)).map(tuple)


def choices(literal: Any) -> st.SearchStrategy[Any]:
    return st.sampled_from(get_args(literal))


identities = st.builds(
    Identity,
    session_id=ids,
    agent_id=ids,
    parent_agent_id=ids,
    agent_name=ids,
    agent_kind=choices(AgentKind),
    purpose=choices(Purpose),
    turn_id=ids,
    harness=ids,
    harness_version=ids,
    model=ids,
    stream=st.none() | st.booleans(),
)
requests = st.builds(
    RequestRecord,
    exchange_id=texts,
    t_request_us=times,
    t_body_us=times,
    method=texts,
    path=texts,
    api=choices(Api),
    upstream=texts,
    headers=headers,
    identity=identities,
    retry_of=ids,
    body_bytes=times,
    body=st.binary(),
    contributor=ids,
    mode=choices(Mode),
)
responses = st.builds(
    ResponseRecord,
    exchange_id=texts,
    end=choices(End),
    status=st.none() | st.integers(0, 999),
    headers=headers,
    t_headers_us=counts,
    t_first_byte_us=counts,
    t_end_us=times,
    chunk_sizes=st.lists(times).map(tuple),
    chunk_times_us=st.lists(times).map(tuple),
    usage=st.none() | st.builds(Usage, counts, counts, counts, counts, counts),
    error=ids,
    body_bytes=times,
    body=st.binary(),
)


@given(requests)
def test_any_request_comes_back_equal(request: RequestRecord) -> None:
    assert load_request(dump_request(request), request.body) == request


@given(st.builds(GapRecord, choices(GapCause), times, times, times))
def test_any_gap_comes_back_equal(gap: GapRecord) -> None:
    assert load_gap(dump_gap(gap)) == gap


def test_requests_stored_before_there_were_contributors_are_read(make_exchange: Any) -> None:
    request, _ = make_exchange(1)
    values = load_json(dump_request(request))
    del values["contributor"], values["mode"]
    assert load_request(dump_json(values), request.body) == request


@given(responses)
def test_any_response_comes_back_equal(response: ResponseRecord) -> None:
    assert load_response(dump_response(response), response.body) == response


def test_a_surrogate_pair_in_two_halves_is_not_joined() -> None:
    halves = "\ud83d" + "\ude00"
    assert load_json(dump_json([halves])) == [halves]


@pytest.mark.parametrize("meta", [b"", b"{", b"[]", b"null", b"{}", b'{"headers":[]}', b'{"headers":1}', b"\xff\xfe"])
def test_what_is_no_record_is_a_value_error(meta: bytes) -> None:
    with pytest.raises(ValueError):
        load_request(meta, b"")
    with pytest.raises(ValueError):
        load_response(meta, b"")


@given(requests)
def test_a_request_is_not_read_as_a_response(request: RequestRecord) -> None:
    with pytest.raises(ValueError, match="not a response"):
        load_response(dump_request(request), b"")
