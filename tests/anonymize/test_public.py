from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from anonymize.policy import HEAD_STEP_TOKENS, PAUSE_CAP_US, TIME_GRID_US, LeakError
from anonymize.public import public_session
from corpus.blocks import count_blocks, encode_blocks, encode_segments, expand_segments
from corpus.session import Agent, Attempt, Edge, Request, Role, Session
from corpus.soundness import find_flaw
from wire.usage import Usage

_ROLES: tuple[Role, ...] = ("user", "assistant", "tool_result")
_HOUR_US = 3_600_000_000


def request(number: int, agent: int, start_us: int, end_us: int | None, **changed: object) -> Request:
    plain = Request(
        request=number,
        agent=agent,
        position=number,
        purpose="turn",
        api="anthropic-messages",
        stream=True,
        model=0,
        t_start_us=start_us,
        t_first_us=None if end_us is None else (start_us + end_us) // 2,
        t_end_us=end_us,
        end="complete",
        status=200,
        retry_of=None,
        stop="end_turn",
        input_kinds=("text",),
        output_kinds=("text",),
        input_tokens=0,
        output_tokens=77,
        usage=Usage(100, 90, 5, 77, None),
        blocks=encode_blocks([[]])[0],
        segments=None,
    )
    return replace(plain, **changed)  # type: ignore[arg-type]  # fields by name


def session_of(requests: list[Request], edges: tuple[Edge, ...] = ()) -> Session:
    agents = tuple(Agent(n, None if n == 0 else 0, "subagent" if n else "main") for n in range(3))
    return Session(
        session=4,
        source_format="capture",
        source_dialect=None,
        harness="claude-code",
        harness_version=(2, 1, 328),
        block_size=64,
        models=("claude-opus-5-5",),
        agents=agents,
        requests=tuple(requests),
        edges=edges,
    )


def with_prompts(requests: list[Request], prompts: list[list[tuple[Role, int]]]) -> list[Request]:
    """Requests with these segments, and the blocks that a prompt cache would find in them."""
    known: dict[tuple[int, bytes], int] = {}  # block before and bytes -> block
    lists = []
    for prompt in prompts:
        tokens = b"".join(bytes([2 * n + (role == "user")]) * size for n, (role, size) in enumerate(prompt))
        blocks = [0]
        for start in range(0, len(tokens) - 63, 64):
            blocks.append(known.setdefault((blocks[-1], tokens[start : start + 64]), len(known) + 1))
        lists.append(blocks[1:])
    deltas = encode_blocks(lists)
    return [
        replace(one, input_tokens=sum(size for _, size in prompt), blocks=delta, segments=cuts)
        for one, prompt, delta, cuts in zip(requests, prompts, deltas, encode_segments(prompts, deltas), strict=True)
    ]


@st.composite
def sessions(draw: st.DrawFn) -> Session:
    moments = st.integers(0, 6 * _HOUR_US)
    drawn = draw(
        st.lists(
            st.tuples(moments, st.integers(0, 3 * _HOUR_US) | st.none(), st.integers(0, 2)), min_size=1, max_size=9
        )
    )
    spans = sorted(((start, agent, length) for start, length, agent in drawn), key=lambda span: span[:2])
    requests = [
        request(n, agent, start, None if length is None else start + length)
        for n, (start, agent, length) in enumerate(spans)
    ]
    system: list[tuple[Role, int]] = [("tools", draw(st.integers(0, 900))), ("system", draw(st.integers(0, 900)))]
    talk = draw(st.lists(st.tuples(st.sampled_from(_ROLES), st.integers(0, 400)), max_size=12))
    prompts = [[*system, *talk[: draw(st.integers(0, len(talk)))]] for _ in spans]
    edges = tuple(
        Edge(src, src + 1, "sequence", one.t_start_us - before.t_end_us, "end", "prefix")
        for src, (before, one) in enumerate(pairwise(requests))
        if before.t_end_us is not None and before.t_end_us <= one.t_start_us
    )
    return session_of(with_prompts(requests, prompts), edges)


@given(sessions())
def test_a_public_session_is_sound_and_keeps_its_blocks_and_graph(session: Session) -> None:
    public = public_session(session)
    assert find_flaw(public) is None
    assert [one.blocks for one in public.requests] == [one.blocks for one in session.requests]
    assert [(edge.src, edge.dst) for edge in public.edges] == [(edge.src, edge.dst) for edge in session.edges]


def test_attempts_are_as_coarse_as_the_clock() -> None:
    tries = (
        Attempt(15 * _HOUR_US, 250_000, "complete", 529, repeated=True),
        Attempt(99_999, None, "timeout", None, repeated=False),
    )
    (public,) = public_session(session_of([request(0, 0, 0, 1_000_000, attempts=tries)])).requests
    assert public.attempts == (
        Attempt(PAUSE_CAP_US, 200_000, "complete", 500, repeated=True),
        Attempt(0, None, "timeout", None, repeated=False),
    )


@given(sessions())
def test_public_times_are_on_the_grid_from_zero_and_no_pause_is_longer_than_the_cap(session: Session) -> None:
    public = public_session(session)
    busy_until = 0
    assert public.requests[0].t_start_us == 0
    for one in public.requests:
        moments = [t for t in (one.t_start_us, one.t_first_us, one.t_end_us) if t is not None]
        assert all(t % TIME_GRID_US == 0 for t in moments)
        assert moments == sorted(moments)
        # a start on the grid may be one step late where two requests would have changed places
        assert one.t_start_us - busy_until <= PAUSE_CAP_US + TIME_GRID_US * len(public.requests)
        busy_until = max(busy_until, *moments)


@given(sessions())
def test_public_delays_are_those_between_public_moments(session: Session) -> None:
    public = public_session(session)
    for edge in public.edges:
        end = public.requests[edge.src].t_end_us
        assert end is not None
        assert edge.delay_us == public.requests[edge.dst].t_start_us - end >= 0


@given(sessions())
def test_public_prompts_are_whole_blocks_and_segments_end_where_blocks_do(session: Session) -> None:
    public = public_session(session)
    before = expand_segments(session.requests)
    after = expand_segments(public.requests)
    for one, exact, rounded in zip(public.requests, before, after, strict=True):
        assert one.input_tokens == 64 * count_blocks(one.blocks)
        assert [role for role, _ in rounded] == [role for role, _ in exact]
        assert all(size % 64 == 0 for _, size in rounded)
        assert sum(size for role, size in rounded if role in ("tools", "system")) % HEAD_STEP_TOKENS == 0
        if exact[-1][0] not in ("tools", "system"):
            assert sum(size for _, size in rounded) == one.input_tokens


@given(sessions())
def test_prompts_that_share_segments_still_share_them(session: Session) -> None:
    before = expand_segments(session.requests)
    after = expand_segments(public_session(session).requests)
    for n in range(1, len(before)):
        shared = sum(1 for _ in _shared(before[n - 1], before[n]))
        assert after[n - 1][:shared] == after[n][:shared]


def _shared(one: tuple[tuple[Role, int], ...], other: tuple[tuple[Role, int], ...]) -> list[tuple[Role, int]]:
    shared = []
    for left, right in zip(one, other, strict=False):
        if left != right:
            break
        shared.append(left)
    return shared


@given(sessions())
def test_publishing_twice_changes_nothing_more(session: Session) -> None:
    public = public_session(session)
    assert public_session(public) == public


def test_values_become_coarse_or_go() -> None:
    one = request(0, 0, 0, 2_345_678, status=429, output_tokens=77, recorded_think_us=5)
    public = public_session(replace(session_of([one]), source='{"id": "jane"}', models=("acme-coder",)))
    published = public.requests[0]
    assert (published.status, published.output_tokens, published.t_end_us) == (400, 72, 2_300_000)
    assert (published.usage, published.recorded_think_us, public.source) == (None, None, None)
    assert (public.harness_version, public.models) == ((2, 1), ("other",))


def test_small_outputs_stay_exact() -> None:
    public = public_session(session_of([request(0, 0, 0, 1, output_tokens=63)]))
    assert public.requests[0].output_tokens == 63


def test_a_night_becomes_an_hour() -> None:
    night = [request(0, 0, 0, 1_000_000), request(1, 0, 9 * _HOUR_US, 9 * _HOUR_US + 1_000_000)]
    public = public_session(session_of(night, (Edge(0, 1, "sequence", 9 * _HOUR_US - 1_000_000, "end", "prefix"),)))
    assert public.requests[1].t_start_us == 1_000_000 + PAUSE_CAP_US
    assert public.edges[0].delay_us == PAUSE_CAP_US


def test_a_long_request_is_no_pause() -> None:
    long = [request(0, 0, 0, 5 * _HOUR_US), request(1, 1, 4 * _HOUR_US, 5 * _HOUR_US)]
    assert public_session(session_of(long)).requests[1].t_start_us == 4 * _HOUR_US


def test_requests_whose_public_starts_are_equal_keep_their_order() -> None:
    close = [request(0, 1, 0, 10), request(1, 0, 10_000, 20_000)]
    assert [one.t_start_us for one in public_session(session_of(close)).requests] == [0, TIME_GRID_US]


def test_an_edge_from_a_request_without_an_end_keeps_its_delay_on_the_grid() -> None:
    open_end = [request(0, 0, 0, None), request(1, 0, 8_000_000, 9_000_000)]
    public = public_session(session_of(open_end, (Edge(0, 1, "sequence", 7_654_321, "end", "prefix"),)))
    assert public.edges[0].delay_us == 7_600_000


def test_a_word_without_a_public_one_stops_the_export() -> None:
    with pytest.raises(LeakError, match=r"Agent\.kind"):
        public_session(replace(session_of([request(0, 0, 0, 1)]), agents=(Agent(0, None, "jane"),)))  # type: ignore[arg-type]  # what a bug would do
