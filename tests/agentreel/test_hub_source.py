from __future__ import annotations

import shutil
from pathlib import Path

import orjson
import pytest

from agentreel.hub_source import cached_dataset, pull_dataset
from corpus.errors import InputError, OutputExistsError
from corpus.formats.weka_writer import session_to_weka
from corpus.tables import read_card, read_corpus, write_corpus
from tests.fakehub import FakeHub, Repo

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


def folder_of(path: Path, below: str = "") -> dict[str, bytes]:
    return {below + one.name: one.read_bytes() for one in path.iterdir()}


@pytest.fixture
def weka_set(hub: FakeHub) -> str:
    """As the public sets are: one file of a trace a line, whose requests differ in their keys."""
    traces = [session_to_weka(session) for session in read_corpus(SAMPLES / "corpus")]
    traces += [trace | {"id": trace["id"] + "-2"} for trace in traces]
    hub.repos["org/weka"] = Repo(private=False)
    hub.repos["org/weka"].commit({"traces.jsonl": b"".join(orjson.dumps(trace) + b"\n" for trace in traces)})
    return "hf:org/weka"


def test_a_weka_set_is_streamed_linked_and_kept_as_a_corpus(hub: FakeHub, weka_set: str) -> None:
    path = cached_dataset(weka_set)
    sessions = list(read_corpus(path))
    assert [session.session for session in sessions] == [0, 1]
    assert all(session.edges for session in sessions)
    assert sum(len(session.requests) for session in sessions) == read_card(path).counts["requests"]
    hub.calls.clear()
    assert cached_dataset(weka_set) == path
    assert hub.calls == ["GET /api/datasets/org/weka"]


def test_a_new_revision_is_another_corpus(hub: FakeHub, weka_set: str) -> None:
    first = cached_dataset(weka_set)
    repo = hub.repos["org/weka"]
    repo.tags["v1"] = repo.branches["main"]
    lines = repo.commits[repo.branches["main"]]["traces.jsonl"].splitlines(keepends=True)
    repo.commit({"traces.jsonl": lines[0]})
    second = cached_dataset(weka_set)
    assert second != first
    assert read_card(second).counts["sessions"] == 1
    assert cached_dataset(f"{weka_set}@v1") == first


def test_a_dataset_of_agentreel_comes_as_it_was(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos["org/own"] = Repo(private=True)
    hub.repos["org/own"].commit(folder_of(SAMPLES / "corpus", "native/"))
    card = pull_dataset("org/own", tmp_path / "corpus", force=False)
    assert card.fingerprint == read_card(SAMPLES / "corpus").fingerprint
    with pytest.raises(OutputExistsError):
        pull_dataset("org/own", tmp_path / "corpus", force=False)


def test_a_corpus_that_is_not_what_its_card_says_is_refused(hub: FakeHub, tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "corpus", tmp_path / "odd")
    sessions = list(read_corpus(SAMPLES / "corpus"))
    shutil.rmtree(tmp_path / "odd")
    card = write_corpus(tmp_path / "odd", sessions, read_card(SAMPLES / "corpus"))
    text = (tmp_path / "odd" / "card.json").read_text().replace(card.fingerprint, "0" * len(card.fingerprint))
    (tmp_path / "odd" / "card.json").write_text(text)
    hub.repos["org/odd"] = Repo(private=False)
    hub.repos["org/odd"].commit(folder_of(tmp_path / "odd", "native/"))
    with pytest.raises(InputError, match="not what its card says"):
        pull_dataset("org/odd", tmp_path / "corpus", force=False)


def test_a_dataset_in_another_format_is_one_line(hub: FakeHub, tmp_path: Path) -> None:
    hub.repos["org/chat"] = Repo(private=False)
    hub.repos["org/chat"].commit({"train.jsonl": b'{"text": "hello"}\n'})
    with pytest.raises(InputError, match="neither a dataset of agentreel nor"):
        pull_dataset("org/chat", tmp_path / "corpus", force=False)
    assert not (tmp_path / "corpus").exists()
