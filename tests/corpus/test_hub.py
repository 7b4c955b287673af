from __future__ import annotations

from pathlib import Path

import pytest

from corpus.errors import InputError
from corpus.hub import Hub, find_token, require_token
from tests.fakehub import TOKEN, FakeHub


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    (made / "data").mkdir(parents=True)
    (made / "README.md").write_text("---\nlicense: mit\n---\nhello\n")
    (made / "data" / "train.parquet").write_bytes(b"PAR1" * 1000)
    return made


def test_what_is_uploaded_comes_back_and_what_is_gone_is_gone(hub: FakeHub, folder: Path, tmp_path: Path) -> None:
    one = Hub("org/name")
    assert one.is_private() is None
    one.create()
    first = one.upload(folder, "one")
    assert one.is_private() is True
    (folder / "data" / "train.parquet").rename(folder / "data" / "other.parquet")
    second = one.upload(folder, "two")
    assert sorted(one.files(second)) == sorted([".gitattributes", "README.md", "data/other.parquet"])
    assert "data/train.parquet" in one.files(first)
    back = one.download(tmp_path / "back", revision=second, only="data")
    assert (back / "other.parquet").read_bytes() == b"PAR1" * 1000
    assert hub.repos["org/name"].private


def test_tags_name_commits_and_are_never_moved(hub: FakeHub, folder: Path) -> None:
    one = Hub("org/name")
    one.create()
    commit = one.upload(folder, "one")
    one.tag("v1", commit)
    assert one.tags() == {"v1"}
    assert one.commit("v1") == commit
    with pytest.raises(InputError, match="there already"):
        one.tag("v1", commit)


def test_only_one_call_makes_a_repository_public(hub: FakeHub, folder: Path) -> None:
    one = Hub("org/name")
    one.create()
    one.upload(folder, "one")
    one.tag("v1", one.commit())
    assert hub.repos["org/name"].private
    one.make_public()
    assert one.is_private() is False


@pytest.mark.parametrize(
    ("status", "words"),
    [(401, "does not know the token"), (403, "does not let this token"), (429, "slow down"), (500, "failed")],
)
def test_every_refusal_is_one_line_without_the_token(hub: FakeHub, status: int, words: str) -> None:
    hub.fail(0, status)
    with pytest.raises(InputError, match=words) as refused:
        Hub("org/name").create()
    assert "\n" not in str(refused.value)
    assert TOKEN not in str(refused.value)


def test_a_hub_that_is_not_there_is_one_line(hub: FakeHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="does not answer"):
        Hub("org/name").create()


def test_a_missing_repository_or_revision_is_one_line(hub: FakeHub) -> None:
    with pytest.raises(InputError, match="no such repository"):
        Hub("org/none").files()
    Hub("org/name").create()
    with pytest.raises(InputError, match="404"):
        Hub("org/name").commit("v9")


def test_names_are_checked_before_anything_is_sent(hub: FakeHub) -> None:
    for odd in ("name", "a/b/c", "/name", "org/"):
        with pytest.raises(InputError, match="ORG/NAME"):
            Hub(odd)
    assert hub.calls == []


def test_the_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "one")
    assert find_token() == "one"
    monkeypatch.delenv("HF_TOKEN")
    with pytest.raises(InputError, match="needs a token"):
        require_token()
