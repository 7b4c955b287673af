from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable
from html.parser import HTMLParser

from corpus.run import Run
from corpus.session import Session
from report.page import CapturesInput, RunInput, SessionsInput, render_page

Make = Callable[..., Session]


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, str] = {}
        self._inside = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._inside = f"{tag} {dict(attrs).get('type') or ''}".strip()

    def handle_data(self, data: str) -> None:
        self.texts[self._inside] = self.texts.get(self._inside, "") + data

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""


def _read(page: str) -> _Reader:
    reader = _Reader()
    reader.feed(page)
    return reader


def _policy(reader: _Reader) -> str:
    return next(attrs["content"] or "" for tag, attrs in reader.tags if "http-equiv" in attrs)


def test_policy_allows_only_the_script_and_style_of_the_page(make_session: Make) -> None:
    reader = _read(render_page([SessionsInput("c", [make_session([(0, 0, 1)])])]))
    policy = dict(part.strip().split(" ", 1) for part in _policy(reader).split(";"))
    assert policy["default-src"] == "'none'"
    for tag in ("script", "style"):
        digest = base64.b64encode(hashlib.sha256(reader.texts[tag].encode()).digest()).decode()
        assert policy[f"{tag}-src"] == f"'sha256-{digest}'"


def test_nothing_is_loaded_from_anywhere(make_session: Make) -> None:
    page = render_page([SessionsInput("c", [make_session([(0, 0, 1)])])])
    names = {name for _, attrs in _read(page).tags for name in attrs}
    assert not names & {"src", "srcset", "style", "onclick", "action"}
    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"https://github.com/leeoniya/uPlot"}  # of its licence
    assert "url(" not in page


def test_the_page_carries_the_licence_of_what_is_not_ours() -> None:
    page = render_page([])
    assert "Copyright (c) 2022 Leon Sorokin" in page
    assert "The above copyright notice and this permission notice shall be included" in page


def test_hostile_names_stay_text(make_session: Make) -> None:
    name = "</script><!--<script>alert(1)</script>{{data}}&\ud800"
    page = render_page([SessionsInput(name, [make_session([(0, 0, 1)], models=(name,))], {name: name})])
    page.encode()
    reader = _read(page)
    assert sum(tag == "script" for tag, _ in reader.tags) == 3
    (view,) = json.loads(reader.texts["script application/json"])
    assert view["title"] == name
    assert view["facts"] == [[name, name]]


def test_every_kind_of_input_has_its_section_in_order(make_session: Make) -> None:
    page = render_page(
        [
            CapturesInput("heard", []),
            SessionsInput("kept", [make_session([(0, 0, 1)])]),
            RunInput("replayed", Run({}, (), {})),
        ]
    )
    views = json.loads(_read(page).texts["script application/json"])
    assert [(view["kind"], view["title"]) for view in views] == [
        ("captures", "heard"),
        ("sessions", "kept"),
        ("run", "replayed"),
    ]
    assert all(len(view["rows"]) == len(view["views"]) for view in views)


def test_same_inputs_give_the_same_page(make_session: Make) -> None:
    given = [SessionsInput("c", [make_session([(0, 0, 1)])])]
    assert render_page(given) == render_page(given)


def test_two_data_sets_are_laid_over_each_other(make_session: Make) -> None:
    given = [SessionsInput(name, [make_session([(0, 0, 1)])]) for name in ("a", "b")]
    views = json.loads(_read(render_page(given)).texts["script application/json"])
    legends = [[series["name"] for series in view["charts"][0][1][0]["series"]] for view in views]
    assert legends == [["a", "b"], ["b", "a"]]


def test_several_runs_are_compared_and_one_is_not() -> None:
    runs = [RunInput(name, Run({}, (), {})) for name in ("a", "b")]
    kinds = [
        [view["kind"] for view in json.loads(_read(render_page(given)).texts["script application/json"])]
        for given in (runs[:1], runs)
    ]
    assert kinds == [["run"], ["run", "run", "comparison"]]
