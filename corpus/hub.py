"""Datasets on Hugging Face: the few calls that publishing and loading take, with every failure in plain words.

The token is `HF_TOKEN` of the environment, or the keyring's `agentreel` / `huggingface` where the package `keyring` is
installed; it is in no setting, file or message of ours. What is uploaded goes to a private repository first, always.
`datasets` and `huggingface_hub` are imported when they are used: they take seconds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from corpus.errors import InputError

if TYPE_CHECKING:
    from huggingface_hub import HfApi

_DATASET: Final = "dataset"
_REASONS: Final = {
    400: ("did not accept what was sent", "read the hub's words, and try again"),
    401: ("does not know the token", "set HF_TOKEN to a token that may write there"),
    403: ("does not let this token do that", "give the token the right to write, or choose a repository of your own"),
    404: ("has no such repository, or hides it from this token", "check the name and HF_TOKEN"),
    409: ("says that it is there already", "choose another tag"),
    413: ("found the upload too large", "ask the hub for more space"),
    429: ("asks to slow down", "try again later: what was uploaded is not sent again"),
}


class Hub:
    """One dataset repository, `ORG/NAME`. Every method raises InputError when the hub refuses or does not answer."""

    def __init__(self, repo: str) -> None:
        if repo.count("/") != 1 or not all(repo.split("/")):
            raise InputError(repo, "is no name of a dataset", "write it as ORG/NAME")
        self.repo = repo

    def is_private(self) -> bool | None:
        """None: there is no such repository."""
        from huggingface_hub.errors import RepositoryNotFoundError

        with _said(self.repo):
            try:
                return bool(_api().repo_info(self.repo, repo_type=_DATASET).private)
            except RepositoryNotFoundError:
                return None

    def tags(self) -> set[str]:
        with _said(self.repo):
            return {ref.name for ref in _api().list_repo_refs(self.repo, repo_type=_DATASET).tags}

    def files(self, revision: str | None = None) -> list[str]:
        with _said(self.repo):
            found: list[str] = _api().list_repo_files(self.repo, repo_type=_DATASET, revision=revision)
            return found

    def commit(self, revision: str | None = None) -> str:
        """The commit that a tag or branch names; the newest for None."""
        with _said(self.repo):
            return str(_api().repo_info(self.repo, repo_type=_DATASET, revision=revision).sha)

    def create(self) -> None:
        """Private; nothing happens when it is there."""
        with _said(self.repo):
            _api().create_repo(self.repo, repo_type=_DATASET, private=True, exist_ok=True)

    def upload(self, folder: Path, message: str) -> str:
        """The repository's content becomes the folder's; returns the commit. Files the hub has are not sent again."""
        with _said(self.repo):
            made = _api().upload_folder(
                repo_id=self.repo,
                folder_path=folder,
                repo_type=_DATASET,
                commit_message=message,
                delete_patterns=["*"],
            )
            return str(made.oid)

    def download(self, target: Path, revision: str | None = None, only: str | None = None) -> Path:
        """All files, or those below the folder `only`, into `target`."""
        patterns = None if only is None else [f"{only}/*"]
        with _said(self.repo):
            _api().snapshot_download(
                self.repo, repo_type=_DATASET, revision=revision, local_dir=target, allow_patterns=patterns
            )
        return target if only is None else target / only

    def tag(self, name: str, commit: str) -> None:
        with _said(self.repo):
            _api().create_tag(self.repo, tag=name, revision=commit, repo_type=_DATASET)

    def make_public(self) -> None:
        with _said(self.repo):
            _api().update_repo_settings(self.repo, repo_type=_DATASET, private=False)

    def rows(self, revision: str | None = None) -> Iterator[dict[str, Any]]:
        """The rows of the default config's `train` split, streamed."""
        from datasets import load_dataset

        with _said(self.repo):
            yield from load_dataset(self.repo, split="train", revision=revision, streaming=True, token=find_token())


def find_token() -> str | None:
    token = os.environ.get("HF_TOKEN")
    if token:
        return token
    try:
        import keyring
    except ImportError:
        return None
    found: str | None = keyring.get_password("agentreel", "huggingface")
    return found


def require_token() -> None:
    if find_token() is None:
        raise InputError("publish", "needs a token of the hub", "set HF_TOKEN to one that may write")


def _api() -> HfApi:
    from huggingface_hub import HfApi

    return HfApi(token=find_token() or False, library_name="agentreel")


@contextmanager
def _said(repo: str) -> Iterator[None]:
    """What goes wrong between here and the hub, as one line."""
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        told = next((told for one in _causes(error) if (told := _told(repo, one))), None)
        if told is None:
            raise
        raise told from error


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and what it came from: uploads wrap what the hub said."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def _told(repo: str, error: BaseException) -> InputError | None:
    from aiohttp import ClientError
    from datasets.exceptions import DatasetsError
    from huggingface_hub import errors

    where = f"hub, {repo}"
    if isinstance(error, errors.HfHubHTTPError):
        status = error.response.status_code
        problem, advice = _REASONS.get(status, ("failed", "try again: what was uploaded is not sent again"))
        words = f": {error.server_message.splitlines()[0]}" if error.server_message else ""
        return InputError(where, f"the hub {problem} ({status}{words})", advice)
    transport: type[Exception] = vars(errors)["HTTPError"]  # of whichever HTTP library it uses
    if isinstance(error, (transport, ClientError, errors.LocalEntryNotFoundError, ConnectionError)):
        problem = f"the hub does not answer ({type(error).__name__})"
        return InputError(where, problem, "check the network, and try again: nothing is lost")
    if isinstance(error, (errors.HFValidationError, DatasetsError)):
        return InputError(where, str(error).partition("\n")[0])
    return None
