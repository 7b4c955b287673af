from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from corpus.capture import reader as reader_module
from corpus.capture.directory import segment_files, segment_name
from corpus.capture.reader import Captures, Damage, first_exchanges, is_captures, open_captures, verify_captures
from corpus.capture.segment import FrameEncoder, Marker, Record
from corpus.capture.writer import CaptureWriter
from corpus.errors import InputError
from corpus.exchange import Exchange, Identity, RequestRecord, ResponseRecord
from wire.api import Api

type Pair = tuple[RequestRecord, ResponseRecord]
type MakeExchange = Callable[..., Pair]


def write(path: Path, pairs: list[Pair], worker: str = "w0") -> None:
    writer = CaptureWriter(path, worker)
    for request, response in pairs:
        writer.write_request(request)
        writer.write_response(request.identity.session_id, response)
    writer.close()


def read_all(captures: Captures) -> list[tuple[RequestRecord, ResponseRecord | None]]:
    return [(exchange.request, exchange.response) for exchange in captures.exchanges()]


def test_sessions_and_workers_are_merged_by_time(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pairs = [make_exchange(number, ("a", "b", None)[number % 3]) for number in range(12)]
    write(tmp_path, pairs[1::2], "w1")
    write(tmp_path, pairs[0::2], "w0")
    captures = open_captures(tmp_path)
    assert read_all(captures) == pairs
    assert captures.session_ids() == ["a", "b", None]
    for session in ("a", "b", None):
        assert list(captures.exchanges(session)) == [
            Exchange(*pair) for pair in pairs if pair[0].identity.session_id == session
        ]
    assert list(captures.exchanges("unheard")) == []
    assert captures.damage == []
    assert is_captures(tmp_path)


def test_a_file_under_another_sessions_name_is_not_mistaken(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pairs = [make_exchange(1, "a"), make_exchange(2, "b")]
    write(tmp_path, pairs)
    segment_files(tmp_path, "b")[0].rename(tmp_path / segment_name("a", "w0", "renamed"))
    captures = open_captures(tmp_path)
    assert list(captures.exchanges("a")) == [Exchange(*pairs[0])]
    assert read_all(captures) == pairs


def test_without_bodies_sizes_are_known(tmp_path: Path, make_exchange: MakeExchange) -> None:
    request, response = make_exchange(3)
    write(tmp_path, [(request, response)])
    (bare,) = open_captures(tmp_path).exchanges(bodies=False)
    assert bare == Exchange(dataclasses.replace(request, body=b""), dataclasses.replace(response, body=b""))
    assert bare.request.body_bytes == len(request.body) > 0


def test_one_exchange_by_its_id(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pairs = [make_exchange(number) for number in range(3)]
    write(tmp_path, pairs)
    assert open_captures(tmp_path).exchange("x000001") == Exchange(*pairs[1])
    with pytest.raises(InputError, match="no exchange 'x9'"):
        open_captures(tmp_path).exchange("x9")


def test_a_request_without_response_is_kept(tmp_path: Path, make_exchange: MakeExchange) -> None:
    request, _ = make_exchange(1)
    writer = CaptureWriter(tmp_path, "w0")
    writer.write_request(request)
    writer.close()
    (exchange,) = open_captures(tmp_path).exchanges()
    assert (exchange.request, exchange.response, exchange.end) == (request, None, "unknown")


def test_a_response_in_another_workers_file_is_paired(tmp_path: Path, make_exchange: MakeExchange) -> None:
    request, response = make_exchange(1)
    one, other = CaptureWriter(tmp_path, "w0"), CaptureWriter(tmp_path, "w1")
    other.write_response("session-1", response)
    one.write_request(request)
    one.close()
    other.close()
    captures = open_captures(tmp_path)
    assert read_all(captures) == [(request, response)]
    assert captures.damage == []


def test_orphans_and_doubles_are_reported_once(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pair, orphan = make_exchange(1), make_exchange(2)[1]
    write(tmp_path, [pair])
    write(tmp_path, [pair])
    writer = CaptureWriter(tmp_path, "w1")
    writer.write_response("session-1", orphan)
    writer.close()
    captures = open_captures(tmp_path)
    assert read_all(captures) == read_all(captures) == [pair]
    assert sorted(damage.problem for damage in captures.damage) == [
        "response without its request, exchange 'x000002'",
        "second request of exchange 'x000001'",
        "second response of exchange 'x000001'",
    ]


def test_a_request_that_is_told_anew_counts_as_it_was_told_last(tmp_path: Path, make_exchange: MakeExchange) -> None:
    request, response = make_exchange(1)
    handshake = replace(request, t_request_us=request.t_request_us - 1, body=b"", body_bytes=0)
    writer = CaptureWriter(tmp_path, "w1")
    for one in (handshake, request):
        writer.write_request(one)
    writer.write_response(request.identity.session_id, response)
    writer.close()
    captures = open_captures(tmp_path)
    assert read_all(captures) == [(request, response)]
    assert captures.damage == []


def test_a_handshake_whose_turn_names_another_session_does_not_wait_in_its_own(
    tmp_path: Path, make_exchange: MakeExchange
) -> None:
    request, response = make_exchange(1, "of the turn")
    api: Api = "openai-responses-ws"
    turn = replace(request, api=api)
    early = turn.t_request_us - 1
    handshake = replace(turn, identity=Identity("of the handshake"), t_request_us=early, body=b"", body_bytes=0)
    unanswered = replace(handshake, exchange_id="another")
    writer = CaptureWriter(tmp_path, "w1")
    for one in (handshake, unanswered, turn):
        writer.write_request(one)
    writer.write_response("of the turn", response)
    writer.close()
    for captures in (open_captures(tmp_path), verify_captures(tmp_path)):
        assert [(e.request, e.response) for e in captures.exchanges("of the turn")] == [(turn, response)]
        assert [(e.request, e.response) for e in captures.exchanges("of the handshake")] == [(unanswered, None)]
        assert read_all(captures) == [(unanswered, None), (turn, response)]
        assert captures.damage == []


def test_damage_is_listed_with_its_file_and_the_rest_is_read(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pairs = [make_exchange(number) for number in range(100)]
    write(tmp_path, pairs)
    other = make_exchange(200, "other")
    write(tmp_path, [other])
    file = segment_files(tmp_path, "session-1")[0]
    data = bytearray(file.read_bytes())
    data[len(data) // 5] ^= 0xFF
    file.write_bytes(data[:-20])  # damaged in the first frame, torn in the last
    captures = open_captures(tmp_path)
    found = read_all(captures)
    assert found[-1] == other
    whole = [pair for pair in found if pair[1]]
    assert [pair for pair in pairs if pair in whole] == whole[:-1]
    assert set(pairs[32:96]) <= set(whole)
    assert {damage.file for damage in captures.damage} == {str(file)}
    assert len(data) // 5 - 1000 < captures.damage[0].offset <= len(data) // 5
    assert any("ends inside a record" in damage.problem for damage in captures.damage)


def test_a_file_of_rubbish_is_damage_not_an_error(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pair = make_exchange(1)
    write(tmp_path, [pair])
    rubbish = tmp_path / "x.w0.r.segment"
    rubbish.write_bytes(b"rubbish")
    (tmp_path / "y.w0.r.segment").touch()
    captures = open_captures(tmp_path)
    assert captures.session_ids() == ["session-1"]
    assert read_all(captures) == [pair]
    assert [(damage.file, damage.offset) for damage in captures.damage] == [(str(rubbish), 0)]


def test_a_sound_record_that_describes_nothing_is_damage(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pair = make_exchange(1)
    write(tmp_path, [pair])
    file = tmp_path / "x.w0.r.segment"
    encoder = FrameEncoder(Marker(b"12345678", "x", "w0", 1))
    file.write_bytes(encoder.encode(Record("request", b'{"from":"the future"}', b"")))
    captures = open_captures(tmp_path)
    assert read_all(captures) == [pair]
    (damage,) = captures.damage
    assert damage == Damage(str(file), 0, damage.problem)
    assert "record 0 of this frame: not a request record" in damage.problem


def test_session_ids_survive_a_damaged_first_marker(tmp_path: Path, make_exchange: MakeExchange) -> None:
    write(tmp_path, [make_exchange(number) for number in range(40)])
    (file,) = segment_files(tmp_path)
    data = bytearray(file.read_bytes())
    data[10] ^= 1
    file.write_bytes(data)
    assert open_captures(tmp_path).session_ids() == ["session-1"]


@pytest.mark.parametrize("session", ["../" * 30, "x" * 100_000, "\0\n", "\ud800\udfff", "no-session", ""])
def test_hostile_session_ids_come_back_as_sent(tmp_path: Path, make_exchange: MakeExchange, session: str) -> None:
    pairs = [make_exchange(1, session), make_exchange(2, None)]
    write(tmp_path / "c", pairs)
    captures = open_captures(tmp_path / "c")
    assert captures.session_ids() == [session, None]
    assert list(captures.exchanges(session)) == [Exchange(*pairs[0])]
    assert len(list((tmp_path / "c").iterdir())) == 3
    assert [path.name for path in tmp_path.iterdir()] == ["c"]


def test_memory_holds_few_frames_when_sessions_interleave(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "_CACHE_BYTES", 5000)
    pairs = [make_exchange(number, f"s{number % 4}") for number in range(40)]
    write(tmp_path, pairs)
    captures = open_captures(tmp_path)
    for exchange, pair in zip(captures.exchanges(), pairs, strict=True):
        assert (exchange.request, exchange.response) == pair
        held = sum(frame.held for frame in captures._frames._frames.values())
        assert held <= 5000 or len(captures._frames._frames) == 1


def test_the_first_exchanges_of_a_file_come_one_by_one(tmp_path: Path, make_exchange: MakeExchange) -> None:
    pairs = [make_exchange(number) for number in range(1, 4)]
    made = [Exchange(*pair) for pair in pairs]
    write(tmp_path, pairs)
    (file,) = segment_files(tmp_path)
    assert list(first_exchanges(file)) == made
    content = file.read_bytes()
    file.write_bytes(content[:-40])
    assert list(first_exchanges(file)) == made[:-1]
    file.write_bytes(b"no segment")
    assert list(first_exchanges(file)) == []


@pytest.mark.parametrize("left", [None, 50])
def test_a_file_that_shrinks_or_goes_while_reading_is_an_input_error(
    tmp_path: Path, make_exchange: MakeExchange, left: int | None
) -> None:
    write(tmp_path, [make_exchange(1)])
    captures = open_captures(tmp_path)
    exchanges = captures.exchanges()
    (file,) = segment_files(tmp_path)
    list(captures.exchanges(bodies=False))
    content = file.read_bytes()
    file.unlink()
    if left is None:
        file.mkdir()
    else:
        file.write_bytes(content[:left])
    with pytest.raises(InputError, match="cannot be read" if left is None else "changed while it was read"):
        next(exchanges)


def test_a_large_frame_is_decoded_as_it_is_read_and_can_be_read_again(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "_WHOLE_FRAME_BYTES", 500)
    pairs = [make_exchange(number) for number in range(40, 60)]
    write(tmp_path, pairs)
    captures = open_captures(tmp_path)
    for _ in range(2):
        most = 0
        for exchange, pair in zip(captures.exchanges(), pairs, strict=True):
            assert (exchange.request, exchange.response) == pair
            most = max(most, *(frame._bytes for frame in captures._frames._frames.values()))
        assert most < 3_000, "not the frame of 20,000 bytes"
    assert captures.exchange("x000041").request == pairs[1][0]


def test_decoders_at_work_count_as_memory(
    tmp_path: Path, make_exchange: MakeExchange, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader_module, "_WHOLE_FRAME_BYTES", 50)
    pairs = [make_exchange(number, f"s{number % 9}") for number in range(90)]
    write(tmp_path, pairs)
    captures = open_captures(tmp_path)
    for exchange, pair in zip(captures.exchanges(), pairs, strict=True):
        assert (exchange.request, exchange.response) == pair
        assert len(captures._frames._frames) <= 5
