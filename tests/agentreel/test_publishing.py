"""The real `huggingface_hub` and `datasets` against a hub on loopback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from datasets import load_dataset

import agentreel.auditing
import agentreel.publishing
from agentreel.publishing import Release, Staged, stage_release, upload_release
from anonymize.audit.finding import Finding
from corpus.errors import InputError
from corpus.hub import Hub
from corpus.tables import read_card, read_corpus
from tests.agentreel.building_site import built, record, talk
from tests.fakehub import TOKEN, FakeHub

RELEASE = Release("org/name", "cc-by-4.0", "v1")


def no_canaries(_run: object) -> Finding:
    """The canaries take their own way through everything; once, in `test_auditing`, is enough."""
    return Finding("T5", ok=True, detail="not run")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and beside it what was staged of it."""
    folder = tmp_path_factory.mktemp("made")
    talks = [one for n in range(6) for one in talk(f"s{n}", 100.0 * n, 50 * (n + 1))]
    built(record(folder / "captures", talks), folder / "corpus")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(agentreel.publishing, "canary_finding", no_canaries)
        stage_release(folder / "corpus", RELEASE, folder / ".corpus.publish")
    return folder


@pytest.fixture
def corpus(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(agentreel.publishing, "canary_finding", no_canaries)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "corpus"


@pytest.fixture
def staged(corpus: Path) -> Staged:
    folder = home_of(corpus) / "dataset"
    return Staged(folder, read_card(folder / "native"), ())


def home_of(corpus: Path) -> Path:
    return corpus.with_name(".corpus.publish")


def files(folder: Path) -> dict[str, bytes]:
    return {one.relative_to(folder).as_posix(): one.read_bytes() for one in folder.rglob("*") if one.is_file()}


def test_what_is_staged_is_the_public_column_and_passed_every_test(corpus: Path) -> None:
    staged = stage_release(corpus, RELEASE, home_of(corpus))
    assert [finding.id for finding in staged.findings] == [f"T{n}" for n in range(1, 15)]
    assert staged.card.policy == "public"
    for session in read_corpus(staged.folder / "native"):
        assert all(request.usage is None for request in session.requests)
        assert all(request.t_start_us % 100_000 == 0 for request in session.requests)
    page = (staged.folder / "README.md").read_text()
    assert f"| requests heard | {read_card(corpus).counts['requests']} |" in page


def test_publishing_goes_to_a_private_repository_and_is_tagged(hub: FakeHub, staged: Staged) -> None:
    commit = upload_release(Hub("org/name"), staged, RELEASE, public=False)
    repo = hub.repos["org/name"]
    assert repo.private
    assert repo.tags == {"v1": commit}
    assert {name: data for name, data in repo.commits[commit].items() if name != ".gitattributes"} == files(
        staged.folder
    )


def test_one_line_loads_what_was_published(hub: FakeHub, staged: Staged, tmp_path: Path) -> None:
    upload_release(Hub("org/name"), staged, RELEASE, public=True)
    assert not hub.repos["org/name"].private
    loaded = load_dataset("org/name", split="train", revision="v1", cache_dir=str(tmp_path / "cache"), token=TOKEN)
    assert loaded.num_rows == staged.card.counts["requests"]
    streamed = load_dataset("org/name", "weka", split="train", revision="v1", streaming=True, token=TOKEN)
    assert next(iter(streamed))["hash_id_scope"] == "local"


def test_a_second_version_replaces_the_files_and_keeps_the_first_release(
    hub: FakeHub, corpus: Path, staged: Staged
) -> None:
    first = upload_release(Hub("org/name"), staged, RELEASE, public=False)
    again = Release("org/name", "cc-by-4.0", "v2")
    second = upload_release(Hub("org/name"), stage_release(corpus, again, home_of(corpus)), again, public=False)
    repo = hub.repos["org/name"]
    assert repo.tags == {"v1": first, "v2": second}
    assert b"release `v1`" in repo.commits[first]["README.md"].lower()
    assert b"release `v2`" in repo.commits[second]["README.md"].lower()


def test_a_release_is_never_changed_and_nothing_is_public_by_accident(hub: FakeHub, staged: Staged) -> None:
    upload_release(Hub("org/name"), staged, RELEASE, public=True)
    hub.calls.clear()
    with pytest.raises(InputError, match="releases never change"):
        upload_release(Hub("org/name"), staged, RELEASE, public=True)
    with pytest.raises(InputError, match="is public already"):
        upload_release(Hub("org/name"), staged, Release("org/name", "cc-by-4.0", "v2"), public=False)
    assert all(call.startswith("GET") for call in hub.calls)


def test_a_failure_at_any_call_is_one_line_and_the_next_try_ends_it(hub: FakeHub, corpus: Path, staged: Staged) -> None:
    upload_release(Hub("org/rehearsal"), staged, RELEASE, public=True)
    calls = len(hub.calls)
    said = []
    for nth in range(calls):
        name = f"org/try{nth}"
        hub.fail(nth, 403)
        said.append(failure_of(Hub(name), staged))
        repo = hub.repos.get(name)
        assert repo is None or repo.private or "v1" in repo.tags
        hub.fail(10**6)
        if repo is None or "v1" not in repo.tags:
            upload_release(Hub(name), staged, RELEASE, public=True)
        assert "v1" in hub.repos[name].tags
    assert sum(map(bool, said)) > calls // 2
    assert not [one for one in said if "\n" in one]


def failure_of(one: Hub, staged: Staged) -> str:
    try:
        upload_release(one, staged, RELEASE, public=True)
    except InputError as error:
        return str(error)
    return ""


def test_an_upload_that_broke_off_goes_on_with_the_same_bytes(hub: FakeHub, corpus: Path, staged: Staged) -> None:
    before = files(staged.folder)
    hub.fail(8, 403)
    with pytest.raises(InputError):
        upload_release(Hub("org/name"), staged, RELEASE, public=False)
    sent = set(hub.objects)
    told: list[str] = []
    again = stage_release(corpus, RELEASE, home_of(corpus), told.append)
    assert "found what an earlier try made" in told
    assert files(again.folder) == before
    hub.calls.clear()
    upload_release(Hub("org/name"), again, RELEASE, public=False)
    resent = {call.rpartition("/")[2] for call in hub.calls if call.startswith("PUT /lfs")}
    assert not resent & sent, sent


def test_other_bytes_on_the_hub_are_noticed_and_not_tagged(
    hub: FakeHub, staged: Staged, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo_upload = Hub.upload

    def upload_and_spoil(self: Hub, folder: Path, message: str) -> str:
        commit = repo_upload(self, folder, message)
        hub.repos["org/name"].commits[commit]["README.md"] = b"other"
        return commit

    monkeypatch.setattr(Hub, "upload", upload_and_spoil)
    with pytest.raises(InputError, match="other bytes"):
        upload_release(Hub("org/name"), staged, RELEASE, public=True)
    assert hub.repos["org/name"].private
    assert hub.repos["org/name"].tags == {}


def test_a_corpus_that_fails_an_audit_is_not_staged(corpus: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(agentreel.auditing, "scan", lambda _folder, _program: "the scanner found a secret")
    monkeypatch.setattr(agentreel.auditing, "find_scanner", lambda: "scanner")
    with pytest.raises(InputError, match="T13 failed"):
        stage_release(corpus, RELEASE, home_of(corpus))
