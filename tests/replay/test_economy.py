from __future__ import annotations

import pytest

from corpus.errors import InputError
from replay.economy import chips_of, economy


def test_money_and_energy_are_spread_over_the_tokens_of_the_profiled_time() -> None:
    found = economy(3_000_000, 1_000_000, 1800.0, chips=8, price=2.0, energy_j=500_000.0)
    assert found["throughput_tps_per_chip"] == pytest.approx(4e6 / 1800 / 8)
    assert found["output_tps_per_chip"] == pytest.approx(1e6 / 1800 / 8)
    assert found["usd_per_million_tokens"] == pytest.approx(8 / 4)
    assert found["usd_per_million_output_tokens"] == pytest.approx(8)
    assert found["joules_per_output_token"] == 0.5
    assert found["output_tokens_per_joule"] == 2.0


@pytest.mark.parametrize("duration", [None, 0.0])
def test_what_is_not_known_is_null(duration: float | None) -> None:
    found = economy(0, 0, duration, chips=1, price=None, energy_j=None)
    assert {name for name, value in found.items() if value is not None} == {"chips"}


def test_chips_are_a_label() -> None:
    assert (chips_of({"chips": "8", "gpu": "H200"}), chips_of({})) == (8, 1)


@pytest.mark.parametrize("text", ["0", "-1", "many", "1.5", ""])
def test_a_label_that_is_no_number_of_chips_is_told(text: str) -> None:
    with pytest.raises(InputError, match="no number of chips"):
        chips_of({"chips": text})
