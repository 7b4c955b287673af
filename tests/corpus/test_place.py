from __future__ import annotations

import io
import stat
from pathlib import Path

import pytest

from corpus.errors import InputError, OutputExistsError
from corpus.place import Place, fetch_folder, is_url, open_place, refuse_existing_folder, store_folder


@pytest.fixture(params=["s3", "file"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "file":
        return f"file://{tmp_path}/far away"
    found: str = request.getfixturevalue("s3")
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "made"
    made.mkdir()
    for name, content in {"a.bin": b"a" * 100, "card.json": b"{}", "z.bin": b""}.items():
        (made / name).write_bytes(content)
    return made


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_what_is_stored_is_fetched_again(url: str, folder: Path, tmp_path: Path) -> None:
    store_folder(folder, open_place(url), "card.json", force=False)
    assert fetch_folder(url, tmp_path / "back") == 3
    assert files(tmp_path / "back") == files(folder)
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "back").iterdir()} == {0o600}


def test_what_is_there_is_replaced_only_by_force_and_only_by_its_own_kind(url: str, folder: Path) -> None:
    place = open_place(url)
    store_folder(folder, place, "card.json", force=False)
    with pytest.raises(OutputExistsError):
        store_folder(folder, place, "card.json", force=False)
    (folder / "a.bin").unlink()
    store_folder(folder, place, "card.json", force=True)
    assert set(place.sizes()) == {"card.json", "z.bin"}
    with pytest.raises(InputError, match="holds other things"):
        refuse_existing_folder(place, "summary.json", force=True)


def test_a_reader_never_finds_the_marker_without_the_rest(
    url: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = open_place(url)
    seen: list[list[str]] = []
    for method in ("store", "remove"):
        plain = getattr(Place, method)

        def watched(self: Place, *args: object, plain: object = plain) -> None:
            assert callable(plain)
            plain(self, *args)
            seen.append(sorted(self.sizes()))

        monkeypatch.setattr(Place, method, watched)
    store_folder(folder, place, "card.json", force=False)
    store_folder(folder, place, "card.json", force=True)
    whole = ["a.bin", "card.json", "z.bin"]
    assert [names for names in seen if "card.json" in names] == [whole, whole]


def test_a_part_of_a_file_is_stored_alone(url: str, folder: Path, tmp_path: Path) -> None:
    place = open_place(url)
    place.store("a.bin", folder / "a.bin", 40)
    place.fetch("a.bin", tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == b"a" * 40
    assert place.sizes() == {"a.bin": 40}


class Cut(io.BytesIO):
    """Ends with Ctrl-C after its first chunk."""

    def read(self, size: int | None = -1, /) -> bytes:
        if self.tell():
            raise KeyboardInterrupt
        return super().read(size)


def test_what_breaks_off_leaves_no_part_behind(url: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, source = open_place(url), folder / "a.bin"
    source.write_bytes(bytes(12 << 20))  # more than one part of an upload
    monkeypatch.setattr(Path, "open", lambda _path, _mode: Cut(bytes(12 << 20)))
    with pytest.raises(KeyboardInterrupt):
        place.store("a.bin", source)
    assert place.sizes() == {}


def test_a_folder_that_is_replaced_while_it_is_read_is_said(
    url: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = open_place(url)
    store_folder(folder, place, "card.json", force=False)
    plain = Place.fetch

    def replaced(self: Place, name: str, target: Path) -> None:
        plain(self, name, target)
        if name == "a.bin":
            (folder / "z.bin").write_bytes(b"other")
            store_folder(folder, place, "card.json", force=True)

    monkeypatch.setattr(Place, "fetch", replaced)
    with pytest.raises(InputError, match="was replaced while it was read"):
        fetch_folder(url, tmp_path / "back")


def test_nothing_there_is_one_line(url: str, tmp_path: Path) -> None:
    assert open_place(url).sizes() == {}
    with pytest.raises(InputError, match="holds nothing"):
        fetch_folder(url, tmp_path / "back")
    with pytest.raises(InputError, match=r"a\.bin"):
        open_place(url).fetch("a.bin", tmp_path / "a.bin")


def test_a_storage_that_refuses_or_does_not_answer_is_one_line(
    s3: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(InputError, match="does not exist") as refused:
        open_place("s3://no-such-bucket/x").store("a.bin", folder / "a.bin")
    assert "\n" not in str(refused.value)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(InputError, match="Could not connect"):
        open_place(s3).sizes()


def test_unknown_kinds_and_keys_in_a_url_are_refused() -> None:
    with pytest.raises(InputError, match="no place agentreel knows"):
        open_place("ftp://host/x")
    with pytest.raises(InputError, match="carries a key") as refused:
        open_place("s3://id:verysecret@bucket/x")
    assert "verysecret" not in str(refused.value)


@pytest.mark.parametrize(
    ("name", "expected"), [("s3://b/x", True), ("file:///x", True), ("corpus", False), ("weka:a://b", False)]
)
def test_urls_are_told_from_paths(name: str, expected: bool) -> None:
    assert is_url(name) is expected
