"""What is handed to other machines: the container's files, and locks that agree with each other."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from agentreel.commands.record import record

ROOT = Path(__file__).resolve().parents[1]


def pins(lock: str) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9-]+)==([^ ;]+)", (ROOT / lock).read_text(), re.MULTILINE))


@pytest.fixture
def recorder() -> dict[str, Any]:
    compose = YAML(typ="safe").load((ROOT / "docker/compose.yaml").read_text())
    service: dict[str, Any] = compose["services"]["recorder"]
    service["declared"] = {"secrets": compose["secrets"], "volumes": compose["volumes"]}
    return service


def test_dockerfile_has_no_lint() -> None:
    linter = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([linter, ROOT / "docker/Dockerfile"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_compose_starts_a_recorder_with_options_that_exist(recorder: dict[str, Any]) -> None:
    command = [
        re.sub(r"\$\{\w+(:[?-])(.*?)\}", lambda m: m[2] if m[1] == ":-" else "host.example", word)
        for word in recorder["command"]
    ]
    assert command[0] == "record"
    given = record.make_context("record", command[1:]).params
    assert given["host"] == "0.0.0.0"
    assert all(given[name] for name in ("token_file", "tls_cert", "tls_key", "allow_hosts", "status_port"))


def test_compose_uses_only_what_it_declares(recorder: dict[str, Any]) -> None:
    assert set(recorder["secrets"]) == set(recorder["declared"]["secrets"])
    for word in recorder["command"]:
        if "/run/secrets/" in word:
            assert word.rpartition("/")[2] in recorder["secrets"]
    assert [volume.partition(":")[0] for volume in recorder["volumes"]] == list(recorder["declared"]["volumes"])


def test_compose_gives_the_recorder_nothing_it_does_not_need(recorder: dict[str, Any]) -> None:
    assert recorder["read_only"] is True
    assert recorder["cap_drop"] == ["ALL"]
    assert recorder["security_opt"] == ["no-new-privileges:true"]


@pytest.mark.parametrize("lock", ["requirements-run.lock", "docker/build.lock"])
def test_every_lock_pins_what_development_pins(lock: str) -> None:
    tested, used = pins("requirements.lock"), pins(lock)
    assert used
    assert {name: version for name, version in used.items() if tested.get(name) != version} == {}


def test_running_alone_needs_no_development_package() -> None:
    assert not {"pytest", "mypy", "moto", "hypothesis"} & pins("requirements-run.lock").keys()
