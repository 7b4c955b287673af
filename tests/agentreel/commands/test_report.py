from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Call = Callable[..., Any]


def test_a_page_shows_captures_a_corpus_and_a_run(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    said = agentreel("report", chain.captures, chain.corpus, chain.run, "-o", tmp_path / "page.html")
    assert said.code == 0
    page = (tmp_path / "page.html").read_text()
    assert "default-src 'none'" in page
    assert "http://" not in page.replace("http://www.w3.org/", "").replace(str(chain.folder), "")[:2000]
    for title in ("captures", "corpus", "run"):
        assert title in page


def test_an_existing_page_is_refused_without_force(agentreel: Call, chain: Any, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("mine")
    assert agentreel("report", chain.corpus, "-o", tmp_path / "page.html").code == 1
    assert (tmp_path / "page.html").read_text() == "mine"
    assert agentreel("report", chain.corpus, "-o", tmp_path / "page.html", "--force").code == 0
    assert (tmp_path / "page.html").read_text() != "mine"


def test_a_path_that_is_nothing_known_is_one_line(agentreel: Call, tmp_path: Path) -> None:
    said = agentreel("report", tmp_path / "nothing", "-o", tmp_path / "page.html")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert not (tmp_path / "page.html").exists()
