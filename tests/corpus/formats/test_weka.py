from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from corpus.card import Card
from corpus.errors import InputError, OutputExistsError
from corpus.formats.weka import Written, is_weka, read_weka, session_from_weka, session_to_weka, write_weka
from corpus.session import Session
from corpus.tables import read_corpus, write_corpus


def trace(name: str = "one") -> dict[str, Any]:
    request = {"t": 0.0, "type": "n", "model": "m", "in": 130, "out": 5, "hash_ids": [0, 1]}
    return {"id": name, "models": ["m"], "block_size": 64, "hash_id_scope": "local", "requests": [request]}


def dump(path: Path, *traces: dict[str, Any]) -> Path:
    path.write_bytes(b"\n".join(map(orjson.dumps, traces)))
    return path


@pytest.mark.parametrize("source", ["real_weka", "synthetic_weka"])
def test_real_traces_come_back_equal_through_a_corpus_and_files(
    tmp_path: Path, card: Card, source: str, request: pytest.FixtureRequest
) -> None:
    folder: Path = request.getfixturevalue(source)
    files = sorted(folder.glob("*.json"))
    originals = [orjson.loads(file.read_bytes()) for file in files]
    sessions = list(read_weka(folder))
    assert [session_to_weka(session) for session in sessions] == originals
    write_corpus(tmp_path / "corpus", sessions, card)
    written = write_weka(tmp_path / "out", read_corpus(tmp_path / "corpus"))
    assert (written.sessions, written.left_out_sessions, written.left_out_requests) == (len(files), 0, 0)
    assert [file.name for file in sorted((tmp_path / "out").iterdir())] == [file.name for file in files]
    assert list(read_weka(tmp_path / "out")) == sessions


def test_file_lines_and_folder_are_read_alike(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    dump(tmp_path / "folder" / "a.json", trace("one"))
    dump(tmp_path / "folder" / "b.jsonl", trace("two"), trace("three"))
    (tmp_path / "folder" / "README.md").write_text("not a trace")
    read = list(read_weka(tmp_path / "folder"))
    assert [(session.session, session.label) for session in read] == [(0, "one"), (1, "two"), (2, "three")]
    assert list(read_weka(tmp_path / "folder" / "a.json")) == read[:1]


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_cut_file_is_broken_json_and_named(tmp_path: Path, share: float) -> None:
    text = orjson.dumps(trace())
    (tmp_path / "cut.json").write_bytes(text[: int(len(text) * share)])
    with pytest.raises(InputError, match=r"cut\.json: is broken JSON .*fetch it again"):
        list(read_weka(tmp_path / "cut.json"))


@pytest.mark.parametrize("text", [b"", b"\xff\xfe", b"NaN", b'{"id": NaN}', b"{'id': 1}", b"{} {}"])
def test_text_that_is_no_json_is_refused(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "bad.json").write_bytes(text)
    with pytest.raises(InputError, match=r"bad\.json: is broken JSON"):
        list(read_weka(tmp_path / "bad.json"))


def test_line_number_is_named(tmp_path: Path) -> None:
    path = dump(tmp_path / "three.jsonl", trace("one"), trace("two"))
    path.write_bytes(path.read_bytes() + b"\n\n" + orjson.dumps({**trace("three"), "models": 3}))
    with pytest.raises(InputError, match=r"three\.jsonl: line 4: models: must be a list of strings, is 3"):
        list(read_weka(path))
    path.write_bytes(path.read_bytes()[:-5])
    with pytest.raises(InputError, match=r"three\.jsonl: line 4: is broken JSON"):
        list(read_weka(path))


def test_two_sessions_of_one_name_are_refused(tmp_path: Path) -> None:
    path = dump(tmp_path / "twice.jsonl", trace(), trace())
    with pytest.raises(InputError, match=r"line 2: id: 'one' is already the id of .*line 1"):
        list(read_weka(path))


def test_missing_path_and_empty_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not exist"):
        list(read_weka(tmp_path / "none.json"))
    with pytest.raises(InputError, match="holds no WEKA session"):
        list(read_weka(tmp_path))


def test_weka_is_told_from_other_files(tmp_path: Path) -> None:
    mooncake = {"timestamp": 0, "input_length": 1, "output_length": 1, "hash_ids": [1]}
    assert is_weka(dump(tmp_path / "trace.json", trace()))
    assert is_weka(dump(tmp_path / "traces.jsonl", trace(), trace()))
    assert not is_weka(dump(tmp_path / "mooncake.jsonl", mooncake))
    assert not is_weka(dump(tmp_path / "trace.txt", trace()))
    assert not is_weka(tmp_path / "none.json")
    assert is_weka(tmp_path)


def test_cut_trace_still_counts_as_weka_so_that_its_error_is_told(tmp_path: Path) -> None:
    path = dump(tmp_path / "trace.json", trace())
    path.write_bytes(path.read_bytes()[:-20])
    assert is_weka(path)


def test_corpus_is_not_taken_for_weka(tmp_path: Path, captured: Session, card: Card) -> None:
    write_corpus(tmp_path / "corpus", [captured], card)
    dump(tmp_path / "corpus" / "trace.json", trace())
    assert not is_weka(tmp_path / "corpus")


def test_one_json_file_holds_one_session(tmp_path: Path) -> None:
    sessions = [session_from_weka(trace(name), "here", i) for i, name in enumerate(("one", "two"))]
    with pytest.raises(InputError, match="holds one session, there are more"):
        write_weka(tmp_path / "out.json", sessions)
    with pytest.raises(InputError, match="no session to write"):
        write_weka(tmp_path / "out.json", [])
    assert list(tmp_path.iterdir()) == []
    assert write_weka(tmp_path / "out.json", sessions[:1]) == Written(1, 1, 0, 0)
    assert orjson.loads((tmp_path / "out.json").read_bytes()) == trace("one")


def test_existing_output_is_refused_without_force(tmp_path: Path) -> None:
    session = session_from_weka(trace(), "here", 0)
    for name in ("out", "out.json", "out.jsonl"):
        write_weka(tmp_path / name, [session])
        with pytest.raises(OutputExistsError):
            write_weka(tmp_path / name, [session])
        write_weka(tmp_path / name, [session], force=True)


def test_force_does_not_replace_a_folder_of_other_files(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text("{}")
    with pytest.raises(InputError, match="other things"):
        write_weka(tmp_path, [session_from_weka(trace(), "here", 0)], force=True)


def test_foreign_ids_make_harmless_file_names(tmp_path: Path) -> None:
    names = ["../../etc/passwd", "A b", "a_b", "", ".hidden"]
    write_weka(tmp_path / "out", [session_from_weka(trace(name), "here", i) for i, name in enumerate(names)])
    written = sorted(file.name for file in (tmp_path / "out").iterdir())
    assert written == ["A_b.json", "_.._etc_passwd.json", "a_b-2.json", "hidden.json", "session.json"]
    assert sorted(session.label for session in read_weka(tmp_path / "out")) == sorted(names)


def test_what_is_left_out_is_counted(tmp_path: Path, captured: Session) -> None:
    probes = replace(captured, session=1, requests=tuple(replace(r, purpose="probe") for r in captured.requests))
    assert write_weka(tmp_path / "out", [captured, probes]) == Written(1, 6, 1, 8)
