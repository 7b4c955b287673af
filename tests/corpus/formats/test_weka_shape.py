from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from corpus.errors import InputError
from corpus.formats.weka_shape import check_trace

Json = dict[str, Any]

TRACE: Json = {
    "id": "a",
    "models": ["m"],
    "block_size": 64,
    "hash_id_scope": "local",
    "requests": [
        {"t": 0, "type": "s", "model": "m", "in": 100, "out": 5, "hash_ids": [1], "ttft": 0.5, "api_time": None},
        {
            "t": 1.5,
            "type": "subagent",
            "agent_id": "a1",
            "subagent_type": "Explore",
            "status": "completed",
            "models": ["m"],
            "duration_ms": None,
            "requests": [{"t": 1.5, "type": "n", "model": "m", "in": 0, "out": 0}],
        },
    ],
    "totals": {"anything": [1, {"goes": None}]},
}


def changed(change: Callable[[Json], object]) -> Json:
    trace = copy.deepcopy(TRACE)
    change(trace)
    return trace


def main(**values: Any) -> Json:
    return changed(lambda trace: trace["requests"][0].update(values))


def group(**values: Any) -> Json:
    return changed(lambda trace: trace["requests"][1].update(values))


def inner(**values: Any) -> Json:
    return changed(lambda trace: trace["requests"][1]["requests"][0].update(values))


def top(**values: Any) -> Json:
    return {**copy.deepcopy(TRACE), **values}


def without(*place: str | int) -> Json:
    def remove(trace: Any) -> None:
        for step in place[:-1]:
            trace = trace[step]
        del trace[place[-1]]

    return changed(remove)


def test_sound_trace_passes() -> None:
    assert check_trace(TRACE, "f") is TRACE


@pytest.mark.parametrize("key", ["id", "models", "block_size", "hash_id_scope", "requests"])
def test_missing_key_of_a_trace_is_placed(key: str) -> None:
    with pytest.raises(InputError, match=rf"^f\.json: {key}: is missing; "):
        check_trace(without(key), "f.json")


@pytest.mark.parametrize("key", ["t", "model", "in", "out"])
def test_missing_key_of_an_inner_request_is_placed(key: str) -> None:
    with pytest.raises(InputError, match=rf"^f\.json: requests\[1\]\.requests\[0\]\.{key}: is missing; "):
        check_trace(without("requests", 1, "requests", 0, key), "f.json")


@pytest.mark.parametrize("key", ["t", "agent_id", "subagent_type", "status", "models", "requests"])
def test_missing_key_of_a_group_is_placed(key: str) -> None:
    with pytest.raises(InputError, match=rf"^f\.json: requests\[1\]\.{key}: is missing; "):
        check_trace(without("requests", 1, key), "f.json")


@pytest.mark.parametrize(
    ("trace", "message"),
    [
        ([], "f: must be an object, is a list; "),
        (None, "f: must be an object, is null; "),
        (top(foo=1), "f: foo: is not a WEKA key; known are id, models,"),
        (main(foo=1), "f: requests[0].foo: is not a WEKA key"),
        (group(foo=1), "f: requests[1].foo: is not a WEKA key"),
        (inner(foo=1), "f: requests[1].requests[0].foo: is not a WEKA key"),
        (top(id=7), "f: id: must be a string, is 7"),
        (top(block_size=0), "f: block_size: must be a whole number from 1, is 0"),
        (top(hash_id_scope="global"), 'f: hash_id_scope: must be "local"'),
        (top(totals=[]), "f: totals: must be an object, is a list"),
        (top(requests={}), "f: requests: must be a list, is an object"),
        (top(requests=[]), "f: requests: holds no request"),
        (top(requests=[3]), "f: requests[0]: must be an object, is 3"),
        (top(tool_tokens=-1), "f: tool_tokens: must be a whole number from 0, is -1"),
        (top(models=["m", None]), "f: models[1]: must be a string, is null"),
        (main(t=-0.5), "f: requests[0].t: must be seconds from 0 to"),
        (main(t=float("nan")), "f: requests[0].t: must be seconds from 0 to"),
        (main(t=float("inf")), "f: requests[0].t: must be seconds from 0 to"),
        (main(t=1e12), "f: requests[0].t: must be seconds from 0 to"),
        (main(t="0"), 'f: requests[0].t: must be a number of seconds, is "0"'),
        (main(t=True), "f: requests[0].t: must be a number of seconds, is true"),
        (main(t=None), "f: requests[0].t: must be a number of seconds, is null"),
        (main(api_time=-1), "f: requests[0].api_time: must be seconds from 0"),
        (inner(**{"in": -5}), "f: requests[1].requests[0].in: must be a whole number from 0, is -5"),
        (inner(**{"in": 10.0}), "f: requests[1].requests[0].in: must be a whole number from 0, is 10.0"),
        (main(out=False), "f: requests[0].out: must be a whole number from 0, is false"),
        (main(hash_ids=None), "f: requests[0].hash_ids: must be a list of block ids, is null"),
        (main(hash_ids=[1, 2, "3"]), 'f: requests[0].hash_ids[2]: must be a whole number from 0, is "3"'),
        (main(hash_ids=[1, -2]), "f: requests[0].hash_ids[1]: must be a whole number from 0, is -2"),
        (main(hash_ids=[1, True]), "f: requests[0].hash_ids[1]: must be a whole number from 0, is true"),
        (
            main(hash_ids=[2**70]),
            "f: requests[0].hash_ids[0]: must be a whole number from 0, is 1180591620717411303424",
        ),
        (main(stop=None), "f: requests[0].stop: must be a string, is null"),
        (main(input_types=["x", 1]), "f: requests[0].input_types[1]: must be a string, is 1"),
        (main(type="x"), 'f: requests[0].type: must be "s" (streaming), "n" (not) or'),
        (inner(ttft=0.5), "f: requests[1].requests[0].ttft: is not a WEKA key"),
        (inner(type="subagent"), "f: requests[1].requests[0]: is a sub-agent inside a sub-agent"),
        (group(requests=[7]), "f: requests[1].requests[0]: must be an object, is 7"),
        (group(duration_ms=1.5), "f: requests[1].duration_ms: must be a whole number from 0, is 1.5"),
        (group(agent_id=None), "f: requests[1].agent_id: must be a string, is null"),
    ],
)
def test_anything_else_is_refused_at_its_place_with_advice(trace: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        check_trace(trace, "f")
    assert str(caught.value).startswith(message)
    assert caught.value.hint
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 300
