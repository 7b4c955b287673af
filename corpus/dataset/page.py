"""The dataset's card, README.md: a head that the hub reads, checked against the files, and a text for people.

The head's features come from the files' own Arrow schemas through the `datasets` library, so what `load_dataset` is
told is what it finds. Every number in the text was counted while the dataset was made.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from corpus.card import Card
from corpus.dataset.shards import data_files, schemas
from corpus.dataset.tables import CONFIGS
from corpus.errors import InputError

_SIZES: Final = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"), (1_000_000, "100K<n<1M"))
_TAGS: Final = ("kv-cache", "llm-inference", "agentic", "trace", "benchmark", "prefix-caching")


@dataclass(frozen=True, slots=True)
class Facts:
    """What the text says beside the card; `risk` and `fidelity` are tables in Markdown."""

    repo: str
    license: str
    release: str
    processing: Sequence[Sequence[str]]  # heads, then rows
    risk: str
    fidelity: str  # "": lengths are the tokenizer's own, and no provider's counts were compared


def check_features(folder: Path) -> None:
    """InputError when a file holds other columns than the card's head is about to say."""
    for config, shards in data_files(folder).items():
        for file in shards:
            if not pq.read_schema(folder / file).equals(schemas()[config]):
                raise InputError(folder / file, f"does not have the columns of the config {config}")


def render_page(folder: Path, card: Card, facts: Facts) -> str:
    """README.md for the finished files in `folder`."""
    check_features(folder)
    return f"---\n{_head(folder, card, facts)}---\n\n{_text(card, facts)}"


def _head(folder: Path, card: Card, facts: Facts) -> str:
    from datasets import DatasetInfo, Features
    from datasets.info import DatasetInfosDict
    from datasets.splits import SplitDict, SplitInfo
    from huggingface_hub import DatasetCardData

    infos = DatasetInfosDict()
    configs: list[dict[str, Any]] = []
    for name, shards in data_files(folder).items():
        split = SplitInfo("train", _table_bytes(folder, shards), _rows(folder, shards))
        size = sum((folder / file).stat().st_size for file in shards)
        infos[name] = DatasetInfo(
            features=Features.from_arrow_schema(schemas()[name]),
            splits=SplitDict({"train": split}),
            download_size=size,
            dataset_size=split.num_bytes,
            config_name=name,
        )
        configs.append({"config_name": name, "data_files": [{"split": "train", "path": shards}]})
    configs[0]["default"] = True
    data = DatasetCardData(
        license=facts.license,
        pretty_name=facts.repo.rpartition("/")[2],
        language=["code"],
        task_categories=["text-generation"],
        tags=list(_TAGS),
        size_categories=[_size_category(card.counts["requests"])],
        configs=configs,
    )
    infos.to_dataset_card_data(data)
    return data.to_yaml() + "\n"


def _text(card: Card, facts: Facts) -> str:
    counts = ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in card.counts.items())
    template = files("corpus.dataset").joinpath("page.md").read_text()
    return template.format(
        repo=facts.repo,
        name=facts.repo.rpartition("/")[2],
        release=facts.release,
        license=facts.license,
        created_by=card.created_by,
        counts=counts,
        block_size=card.block_size,
        tokenizer=card.tokenizer,
        sha256=card.tokenizer_sha256,
        fingerprint=card.fingerprint,
        processing=markdown_table(facts.processing),
        risk=facts.risk,
        fidelity=facts.fidelity or _NOT_COMPARED.format(tokenizer=card.tokenizer),
        fields="\n\n".join(f"### `{name}`\n\n{_fields(name)}" for name in CONFIGS),
        year=facts.release[:4] if facts.release[:4].isdigit() else "n.d.",
    )


def _fields(config: str) -> str:
    rows = [(f"`{c.name}`", _kind(c.kind), c.meaning) for c in CONFIGS[config].columns]
    return markdown_table([("column", "type", "meaning"), *rows])


def _kind(kind: Any) -> str:
    return str(kind).replace("element: ", "").replace(" not null", "").replace("extension<arrow.json>", "json")


def markdown_table(rows: Iterable[Sequence[str]]) -> str:
    head, *body = rows
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _rows(folder: Path, shards: Iterable[str]) -> int:
    return sum(pq.read_metadata(folder / file).num_rows for file in shards)


def _table_bytes(folder: Path, shards: Iterable[str]) -> int:
    """Size of the unpacked columns, as the library counts it for other sets."""
    metadata = [pq.read_metadata(folder / file) for file in shards]
    return sum(one.row_group(group).total_byte_size for one in metadata for group in range(one.num_row_groups))


def _size_category(rows: int) -> str:
    return next((name for limit, name in _SIZES if rows < limit), "1M<n<10M")


_NOT_COMPARED: Final = (
    "Lengths are those of the tokenizer `{tokenizer}`. They were not compared with what providers counted, and differ"
    " from it by the provider's own tokenizer, prompt template and hidden prompts."
)
