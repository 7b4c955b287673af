from __future__ import annotations

from pathlib import Path

import pytest

from agentreel.places import InputPlace, _fetched, local_input, local_output, work_place
from agentreel.process import serve_command
from anonymize.contributions import contributions_path
from corpus.capture.reader import Captures
from corpus.errors import InputError, OutputExistsError
from corpus.place import Place, open_place
from tests.agentreel.conftest import Call, Chain


def test_paths_stay_paths(tmp_path: Path) -> None:
    assert local_input("some/path") == Path("some/path")
    assert local_input(f"file://{tmp_path}/a%20b") == tmp_path / "a b"
    assert InputPlace().convert("some/path", None, None) == Path("some/path")
    with local_output("some/path", "card.json", force=False) as target:
        assert target == Path("some/path")


def made_twice(folder: Path) -> None:
    folder.mkdir()
    folder.mkdir()


def test_an_output_that_failed_leaves_nothing_there_and_goes_on_where_it_was(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    with pytest.raises(FileExistsError), local_output(s3, "card.json", force=False) as first:
        made_twice(first)
    with pytest.raises(InputError, match="holds nothing"):
        local_input(s3)
    with local_output(s3, "card.json", force=False) as second:
        assert second == first
        assert second.is_dir()
        (second / "card.json").write_text("{}")
    assert not second.exists()
    assert (local_input(s3) / "card.json").read_text() == "{}"
    with pytest.raises(OutputExistsError), local_output(s3, "card.json", force=False):
        pass


def test_the_chain_works_on_object_storage(
    captures: Captures, s3: str, agentreel: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert agentreel("captures", "sync", captures.path, f"{s3}/captures").code == 0
    assert agentreel("build", f"{s3}/captures", f"{s3}/corpus", "--workers", "0").code == 0
    assert agentreel("build", captures.path, tmp_path / "corpus", "--workers", "0").code == 0
    there, here = agentreel("stats", f"{s3}/corpus", "--json"), agentreel("stats", tmp_path / "corpus", "--json")
    assert there.code == 0
    assert there.out == here.out
    assert agentreel("audit", f"{s3}/corpus", "--against", f"{s3}/captures").code == 0
    assert agentreel("report", f"{s3}/corpus", "-o", tmp_path / "page.html").code == 0
    refused = agentreel("build", f"{s3}/captures", f"{s3}/corpus")
    assert refused.code == 1
    assert refused.err.count("\n") == 1
    assert "--force" in refused.err


def test_sync_takes_one_folder_and_one_url(agentreel: Call, s3: str, tmp_path: Path) -> None:
    assert agentreel("captures", "sync", tmp_path, tmp_path).code == 2
    assert agentreel("captures", "sync", s3, s3).code == 2


def stored(target: Path, known: bool) -> None:
    target.mkdir()
    (target / "card.json").write_text("{}")
    if known:
        contributions_path(target).write_text("who is whom")


def test_what_only_the_owner_may_know_lies_beside_the_corpus_and_goes_with_its_replacement(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    url = f"{s3}/corpus"
    for known in (True, False):
        with local_output(url, "card.json", force=True) as target:
            stored(target, known)
        assert set(open_place(url).sizes()) == {"card.json"}
        assert set(open_place(s3).sizes()) == ({"corpus.contributions.json"} if known else set())
        _fetched.cache_clear()
        assert contributions_path(local_input(url)).is_file() is known


def test_what_could_not_be_taken_there_is_kept_named_and_no_obstacle(
    s3: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def fail(*_args: object) -> None:
        raise InputError(s3, "does not answer", "check the network")

    with monkeypatch.context() as broken:
        broken.setattr(Place, "store", fail)
        with (
            pytest.raises(InputError, match=r"check the network; what was made lies whole in .*\w$") as told,
            local_output(s3, "card.json", force=False) as target,
        ):
            stored(target, known=False)
    assert str(target) in str(told.value)
    assert (target / "card.json").is_file()
    with local_output(s3, "card.json", force=False) as again:
        stored(again, known=False)
    assert set(open_place(s3).sizes()) == {"card.json"}


def test_a_run_goes_to_object_storage_and_is_reported_from_there(
    chain: Chain, s3: str, agentreel: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with serve_command(("standin", "engine", "--json"), tmp_path / "engine.log") as engine:
        args = ("--url", engine["url"], "--model", "standin", "--warmup", "none", "--speedup", "200")
        said = agentreel("replay", chain.corpus, *args, "--out", f"{s3}/run")
        assert said.code == 0, said.err
        assert said.out.startswith(f"{s3}/run: ")
        assert agentreel("replay", chain.corpus, *args, "--out", f"{s3}/run").code == 1
    assert agentreel("report", f"{s3}/run", "-o", tmp_path / "page.html").code == 0
    assert list((tmp_path / "cache" / "agentreel").iterdir()) == []


def test_work_is_kept_beside_what_is_named_or_in_the_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert work_place("some/corpus", "publish") == Path("some/.corpus.publish")
    far = work_place("s3://bucket/corpus", "publish")
    assert far == work_place("s3://bucket/corpus", "publish")
    assert far.parent == tmp_path / "agentreel"
