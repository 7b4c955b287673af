from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpus.server_metrics import ServerSample
from replay.server_summary import queue_share, summarise_server

S = 1_000_000


def counted(name: str, *values: float, source: str = "a") -> list[ServerSample]:
    """One sample a second from 0 on."""
    return [ServerSample(number * S, source, name, value) for number, value in enumerate(values)]


def test_warmup_and_profile_are_told_apart_and_bounds_between_samples_are_straight_lines() -> None:
    found = summarise_server(counted("prompt_tokens", 100, 110, 130, 170), round(1.5 * S), 3 * S)
    assert found["warmup"] == {"prompt_tokens": 20}
    assert found["profile"] == {"prompt_tokens": 50}


def test_a_sample_near_the_bound_says_what_was_counted_until_then() -> None:
    found = summarise_server(counted("prompt_tokens", 0, 100), 200_000, S)
    assert (found["warmup"], found["profile"]) == ({"prompt_tokens": 0}, {"prompt_tokens": 100})


def test_a_run_that_never_profiled_has_warmup_alone() -> None:
    found = summarise_server(counted("output_tokens", 1, 3), None, 1 * S)
    assert found == {"warmup": {"output_tokens": 2}, "profile": {}}


def test_a_server_that_was_started_again_counts_on() -> None:
    assert summarise_server(counted("output_tokens", 90, 100, 4, 6), 0, 3 * S)["profile"] == {"output_tokens": 16}


def test_gauges_of_sources_are_added_and_shares_averaged() -> None:
    samples = [
        *counted("running", 2, 4),
        *counted("running", 1, 1, source="b"),
        *counted("kv_used_share", 0.2, 0.4),
        *counted("kv_used_share", 0.6, 0.8, source="b"),
    ]
    found = summarise_server(samples, 0, 2 * S)["profile"]
    assert found == {"running": {"mean": 4, "max": 5}, "kv_used_share": {"mean": 0.5, "max": 0.8}}


def test_a_gauge_holds_its_value_until_the_next_sample() -> None:
    samples = counted("waiting", 1, 9, 5)
    assert summarise_server(samples, round(0.5 * S), round(1.25 * S))["profile"]["waiting"]["mean"] == pytest.approx(
        11 / 3
    )
    assert summarise_server(samples, round(1.1 * S), round(1.2 * S))["profile"]["waiting"] == {"mean": 9, "max": 9}


def test_ratios_are_of_the_phase_and_not_of_the_servers_life() -> None:
    samples = [
        *counted("hbm_query_tokens", 1000, 1000, 1100),
        *counted("hbm_hit_tokens", 0, 0, 90),
        *counted("spec_draft_tokens", 0, 0, 10),
        *counted("spec_accepted_tokens", 0, 0, 7),
    ]
    found = summarise_server(samples, S, 2 * S)
    assert (found["profile"]["hbm_hit_rate"], found["profile"]["spec_acceptance"]) == (0.9, 0.7)
    assert "hbm_hit_rate" not in found["warmup"]


def test_energy_is_counted_or_else_power_times_time() -> None:
    power = counted("power_w", 100, 300)
    assert summarise_server(power, 0, 2 * S)["profile"]["energy_j"] == 400
    told = summarise_server([*power, *counted("energy_j", 50, 57, 57)], 0, 2 * S)["profile"]
    assert told["energy_j"] == 7


@pytest.mark.parametrize(
    ("phase", "share"),
    [({"queue_s": 1, "prefill_s": 3}, 0.25), ({"queue_s": 1}, None), ({"queue_s": 0, "prefill_s": 0}, None)],
)
def test_queue_share_of_the_time_to_first_token(phase: dict[str, float], share: float | None) -> None:
    assert queue_share(phase) == share


@given(
    steps=st.lists(st.floats(0, 1e6), min_size=1, max_size=20),
    turn=st.integers(0, 20 * S),
)
def test_the_phases_of_a_counter_add_up_to_what_it_grew(steps: list[float], turn: int) -> None:
    values = [sum(steps[:number]) for number in range(len(steps) + 1)]
    turn = min(turn, len(steps) * S)
    found = summarise_server(counted("output_tokens", *values), turn, len(steps) * S)
    parts = [found[phase].get("output_tokens", 0.0) for phase in ("warmup", "profile")]
    assert sum(parts) == pytest.approx(values[-1], abs=1e-3)
