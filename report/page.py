"""One HTML file that shows captures, corpora and runs, needs no network and allows none.

The policy in the page permits exactly the one script and the one style it carries, by their hashes, and nothing else:
no connection, image, font or frame. Data travel in script elements of types that no browser runs: all long columns of
numbers packed in one, the rest as JSON, packed too where it is much. Which numbers and bars there are is decided in the
`*_view` modules; the script draws what it is given.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Any, Final

from corpus.exchange import Exchange
from corpus.run import Run
from corpus.server_metrics import ServerSample
from corpus.session import Session
from report.calibration_view import view_calibration
from report.capture_view import view_captures
from report.comparison_view import ComparedRun, has_offload, view_comparison
from report.packing import Packer
from report.run_view import view_run
from report.session_view import view_sessions


@dataclass(frozen=True, slots=True)
class SessionsInput:
    title: str
    sessions: Sequence[Session]  # linked, if edges are to be seen
    facts: Mapping[str, str] = field(default_factory=dict)  # where it comes from, settings


@dataclass(frozen=True, slots=True)
class CapturesInput:
    title: str
    exchanges: Sequence[Exchange]  # bodies are not looked at
    facts: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RunInput:
    title: str
    run: Run
    facts: Mapping[str, str] = field(default_factory=dict)
    samples: Sequence[ServerSample] = ()  # what the server told meanwhile


@dataclass(frozen=True, slots=True)
class CalibrationInput:
    title: str
    report: Mapping[str, Mapping[str, Any]]  # model -> stage -> percentiles and shares
    facts: Mapping[str, str] = field(default_factory=dict)


# In the order in which they build on each other.
_SCRIPTS: Final = (
    "vendor/uPlot.iife.min.js",
    "words.js",
    "columns.js",
    "view.js",
    "paint.js",
    "legend.js",
    "timeline.js",
    "axes.js",
    "series.js",
    "charts.js",
    "rolling.js",
    "flamegraph.js",
    "table.js",
    "page.js",
)
_STYLES: Final = ("vendor/uPlot.min.css", "page.css")
_PLAIN_UP_TO: Final = 300_000  # characters; below it, packing gains nothing that anyone would notice

PageInput = SessionsInput | CapturesInput | RunInput | CalibrationInput


def render_page(inputs: Sequence[PageInput]) -> str:
    """The whole page; the same inputs give the same text."""
    script = "\n".join([f"/*!\n{_asset('vendor/uPlot.LICENSE')}*/", *(_asset(name) for name in _SCRIPTS)])
    style = "".join(_asset(name) for name in _STYLES)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    title = " - ".join(["agentreel report", *(given.title for given in inputs)])
    views = [*(_view(given, _overlay(given, inputs)) for given in inputs), *_comparison(inputs)]
    packer = Packer()
    data_type, data = _packed(_json(views, packer))
    parts = {
        "policy": policy,
        "title": html.escape(title.encode(errors="replace").decode()),
        "style": style,
        "data_type": data_type,
        "data": data,
        "columns": packer.packed(),
        "script": script,
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], _asset("page.html"))


def _overlay(given: PageInput, inputs: Sequence[PageInput]) -> SessionsInput | None:
    """The other data set to compare one with: the first that was given, and for that one the second."""
    others = [other for other in inputs if isinstance(other, SessionsInput) and other is not given]
    return others[0] if others and isinstance(given, SessionsInput) else None


def _view(given: PageInput, overlay: SessionsInput | None) -> dict[str, Any]:
    match given:
        case SessionsInput(title, sessions, facts):
            return view_sessions(title, facts, sessions, (overlay.title, overlay.sessions) if overlay else None)
        case CapturesInput(title, exchanges, facts):
            return view_captures(title, facts, exchanges)
        case RunInput(title, run, facts, samples):
            return view_run(title, facts, run, samples)
        case CalibrationInput(title, found, facts):
            return view_calibration(title, facts, found)


def _comparison(inputs: Sequence[PageInput]) -> list[dict[str, Any]]:
    runs = [
        ComparedRun(
            f"{given.title}, concurrency {given.run.config.get('concurrency', '?')}",
            f"#input-{number}",
            given.run.summary,
            has_offload(given.run.config, given.samples),
        )
        for number, given in enumerate(inputs, 1)
        if isinstance(given, RunInput)
    ]
    return [view_comparison(runs)] if len(runs) > 1 else []


def _json(value: object, packer: Packer) -> str:
    """JSON that cannot end its script element or open a comment in it."""
    text = json.dumps(value, separators=(",", ":"), default=packer.place)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _packed(text: str) -> tuple[str, str]:
    """Type and content of the data's element; what is large travels as gzip in base64, without a time stamp."""
    if len(text) <= _PLAIN_UP_TO:
        return "application/json", text
    packed = gzip.compress(text.encode(), compresslevel=9, mtime=0)
    return "application/gzip", base64.b64encode(packed).decode()


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _asset(name: str) -> str:
    return files("report").joinpath(name).read_text(encoding="utf-8")
