from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from agentreel.replaying import Replay, replay_of, replay_options
from corpus.errors import InputError
from replay.addressing import HINTS

SAMPLE = Path(__file__).resolve().parents[2] / "samples" / "corpus"


def made(*options: str, src: str = str(SAMPLE)) -> Replay:
    found: list[Replay] = []

    @click.command()
    @replay_options
    def command(**given: Any) -> None:
        found.append(replay_of(src, Path("run"), 4, {**given, "url": "http://127.0.0.1:1", "model": "m"}))

    CliRunner().invoke(command, options, catch_exceptions=False, standalone_mode=False)
    return found[0]


def test_options_become_settings() -> None:
    settings = made("--label", "chips=8", "--header", "a=b=c", "--engine", "sglang", "--price", "2.5").settings
    assert (settings.labels, settings.headers) == ({"chips": "8"}, {"a": "b=c"})
    assert (settings.engine, settings.price, settings.concurrency, settings.warmup) == ("sglang", 2.5, 4, "steady")
    assert (settings.hints, settings.metrics_urls, settings.dp_ranks) == (frozenset(), (), 0)


def test_hints_are_some_or_all() -> None:
    assert made("--hints", "pin,demote").settings.hints == {"pin", "demote"}
    assert made("--hints", "all").settings.hints == HINTS.keys()


def test_fixed_requests_come_again_without_warmup() -> None:
    found = made(src="fixed:100,10")
    assert (found.settings.warmup, found.settings.repeats, len(list(found.sessions))) == ("none", True, 1)


def test_compat_draws_the_graph_of_the_harness() -> None:
    found = made("--compat", "agentx")
    assert (found.settings.method, found.draw is None) == ("agentx", False)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--label", "chips"), "not of the form KEY=VALUE"),
        (("--extra-body", "{"), "broken JSON"),
        (("--extra-body", "[1]"), "no JSON object"),
    ],
)
def test_what_cannot_be_read_is_told(options: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        made(*options)
