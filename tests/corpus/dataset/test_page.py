from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from datasets import get_dataset_config_names, load_dataset
from ruamel.yaml import YAML

from corpus.card import Card
from corpus.dataset.page import Facts, check_features, render_page
from corpus.dataset.shards import data_files, write_shards
from corpus.errors import InputError
from corpus.session import Session
from corpus.tables import write_corpus

FACTS = Facts(
    repo="org/name",
    license="cc-by-4.0",
    release="2026-11-29",
    processing=(("requests", "count"), ("heard", "12"), ("left out: title", "2")),
    risk="| lengths in steps of | 1 in a row |\n| --- | --- |\n| 64 tokens | 4.2 % |",
    fidelity="",
)


@pytest.fixture
def folder(captured: Session, tmp_path: Path) -> Path:
    made = tmp_path / "dataset"
    made.mkdir()
    write_shards(made, [captured], FACTS.release)
    card = write_corpus(made / "native", [captured], Card("agentreel 0.1.0", tokenizer="t", block_size=64))
    (made / "README.md").write_text(render_page(made, card, FACTS))
    return made


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "cache")


def test_every_config_of_the_head_loads_with_the_columns_it_says(folder: Path, tmp_path: Path) -> None:
    assert get_dataset_config_names(str(folder)) == list(data_files(folder))
    for name in data_files(folder):
        loaded = load_dataset(str(folder), name, split="train", cache_dir=str(tmp_path / "cache"))
        head = YAML(typ="safe").load((folder / "README.md").read_text().split("---\n")[1])
        told = next(info for info in head["dataset_info"] if info["config_name"] == name)
        assert [feature["name"] for feature in told["features"]] == loaded.column_names
        assert told["splits"][0]["num_examples"] == loaded.num_rows


def test_one_line_loads_the_requests_with_whole_prompts(folder: Path, captured: Session, tmp_path: Path) -> None:
    loaded = load_dataset(str(folder), split="train", cache_dir=str(tmp_path / "cache"))
    assert loaded.num_rows == len(captured.requests)
    assert loaded[6]["hash_ids"] == [1, 2, 3, 4, 5, 11]


def test_the_text_says_what_was_counted(folder: Path) -> None:
    page = (folder / "README.md").read_text()
    for words in ("| left out: title | 2 |", "| 64 tokens | 4.2 % |", "7 requests", "release `2026-11-29`"):
        assert words.lower() in page.lower()
    assert "were not compared with what providers counted" in page


def test_a_file_with_other_columns_is_refused(folder: Path) -> None:
    file = folder / data_files(folder)["sessions"][0]
    pq.write_table(pa.table({"session": [1], "secret": ["x"]}), file)
    with pytest.raises(InputError, match="does not have the columns"):
        check_features(folder)
