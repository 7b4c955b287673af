from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from corpus.errors import InputError
from replay.settings import ReplaySettings, check_settings, describe


def settings(**changes: Any) -> ReplaySettings:
    return ReplaySettings(**{"url": "http://h:1", "model": "m", "out": Path("run"), "tokenizer": "t", **changes})


@pytest.mark.parametrize(
    ("changes", "option"),
    [
        ({"concurrency": 0}, "--concurrency"),
        ({"duration_s": 0}, "--duration"),
        ({"duration_s": float("nan")}, "--duration"),
        ({"speedup": 0}, "--speedup"),
        ({"speedup": float("inf")}, "--speedup"),
        ({"idle_cap_s": -1}, "--idle-cap"),
        ({"idle_cap_s": float("nan")}, "--idle-cap"),
        ({"max_context": 0}, "--max-context"),
        ({"url": "h:1"}, "--url"),
        ({"extra_body": {"stream": False}}, "--extra-body"),
    ],
)
def test_settings_no_replay_can_run_with_name_the_option(changes: dict[str, Any], option: str) -> None:
    with pytest.raises(InputError, match=f"^{option}"):
        check_settings(settings(**changes))


def test_defaults_are_fine() -> None:
    check_settings(settings())


def test_config_holds_no_secret() -> None:
    config = describe(settings(url="http://me:secret@h:1/v1?key=secret", headers={"Authorization": "Bearer secret"}))
    assert "secret" not in str(config)
    assert config["url"] == "http://h:1/v1"
    assert config["header_names"] == ["Authorization"]
