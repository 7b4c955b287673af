"""One server of each kind and one corpus for all tests; an engine that cannot be installed skips with one line."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from agentreel.process import recording, run_command
from corpus.errors import InputError
from corpus.tables import is_corpus, read_card
from tests.engines.installs import UnavailableError, llama_python, vllm_python
from tests.engines.servers import reset_prefix_cache, serving_llama, serving_vllm

Say = Callable[[str], None]
REAL_CLIENTS = Path(__file__).resolve().parents[2] / ".clients" / "corpus"


@pytest.fixture(scope="session")
def say(request: pytest.FixtureRequest) -> Say:
    """Prints a line that is seen although output is captured."""
    capture = request.config.pluginmanager.get_plugin("capturemanager")
    assert capture is not None

    def write(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(f"\n{line}", flush=True)

    return write


@pytest.fixture(scope="session")
def vllm(say: Say) -> Iterator[str]:
    """Base URL. The first time ever takes minutes: it is installed."""
    with started("vLLM", vllm_python, serving_vllm, say) as url:
        yield url


@pytest.fixture(scope="session")
def llama(say: Say) -> Iterator[str]:
    with started("llama.cpp", llama_python, serving_llama, say) as url:
        yield url


@pytest.fixture
def empty_vllm(vllm: str) -> str:
    """The same server with nothing in its prefix cache."""
    reset_prefix_cache(vllm)
    return vllm


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory, say: Say) -> Path:
    """Every scenario of the stand-in agents, recorded through the real recorder and built."""
    home = tmp_path_factory.mktemp("recorded")
    began = time.monotonic()
    with recording(home / "captures", home) as recorder:
        urls = ("--anthropic", recorder["anthropic"], "--openai", recorder["openai"])
        run_command(("standin", "agents", *urls, "--tool-s", "0.1", "--think-s", "0.2"))
    run_command(("build", str(home / "captures"), str(home / "corpus")))
    say(f"corpus: recorded and built in {time.monotonic() - began:.0f} s")
    return home / "corpus"


@pytest.fixture(params=["stand-in agents", "real clients"])
def any_corpus(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """Whose requests, and their corpus: of the stand-in agents, and of the real Claude Code and Codex."""
    if request.param == "stand-in agents":
        path: Path = request.getfixturevalue("corpus")
        return request.param, path
    if not is_corpus(REAL_CLIENTS):
        pytest.skip("no corpus of the real clients: `make test-clients` leaves one in .clients/")
    try:
        read_card(REAL_CLIENTS)
    except InputError as stale:
        pytest.skip(f"{stale}; `make test-clients` makes it anew")
    return request.param, REAL_CLIENTS


@contextlib.contextmanager
def started[Server](
    name: str,
    install: Callable[[], Path],
    serving: Callable[[Path], contextlib.AbstractContextManager[Server]],
    say: Say,
) -> Iterator[Server]:
    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        try:
            python = install()
        except UnavailableError as missing:
            pytest.skip(f"{name}: {missing}")
        installed = time.monotonic()
        server = stack.enter_context(serving(python))  # once installed, not to start is a failure
        say(f"{name}: installed in {installed - began:.0f} s, healthy {time.monotonic() - installed:.0f} s later")
        yield server
