from __future__ import annotations

import base64
import gzip
import json
from dataclasses import replace

from corpus.capture.export import HAR_HEAD, HAR_TAIL, body_fields, har_entry
from corpus.exchange import Exchange
from tests.corpus.capture.conftest import MakeExchange

RAW = b"\xff\x00raw"


def test_an_entry_tells_heads_bodies_and_times(make_exchange: MakeExchange) -> None:
    request, response = make_exchange(1, body=b'{"a":1}')
    request = replace(request, path="/v1/messages?beta=true")
    entry = har_entry(Exchange(request, response))
    assert entry["startedDateTime"] == "2023-11-14T22:13:21.000+00:00"
    assert entry["request"]["url"] == "https://provider.example/v1/messages?beta=true"
    assert entry["request"]["queryString"] == [{"name": "beta", "value": "true"}]
    assert entry["request"]["postData"]["text"] == '{"a":1}'
    assert (entry["response"]["status"], entry["response"]["content"]["text"]) == (200, "answer")
    assert entry["timings"] == {"send": 0.01, "wait": 0.02, "receive": 0.01}
    assert entry["_agentreel"]["end"] == "complete"
    assert json.loads(HAR_HEAD % "1" + json.dumps(entry) + HAR_TAIL)["log"]["entries"] == [entry]


def test_an_exchange_without_response_has_status_0(make_exchange: MakeExchange) -> None:
    request, _ = make_exchange(1)
    entry = har_entry(Exchange(request, None))
    assert (entry["response"]["status"], entry["response"]["bodySize"], entry["timings"]["wait"]) == (0, -1, -1)
    assert entry["_agentreel"]["end"] == "unknown"


def test_compressed_bodies_are_decoded_and_others_are_base64(make_exchange: MakeExchange) -> None:
    request, response = make_exchange(1, body=RAW)
    response = replace(response, body=gzip.compress(b"caf\xc3\xa9"), headers=(("Content-Encoding", "gzip"),))
    entry = har_entry(Exchange(request, response))
    assert entry["response"]["content"]["text"] == "caf\u00e9"
    assert base64.b64decode(entry["request"]["postData"]["_text_base64"]) == RAW


def test_body_fields_say_which_form_they_have() -> None:
    assert body_fields("request_body", b"text", ()) == {"request_body": "text"}
    assert body_fields("request_body", RAW, ()) == {"request_body_base64": base64.b64encode(RAW).decode()}
    wrong = (("content-encoding", "gzip"),)
    assert body_fields("b", b"not gzip", wrong) == {"b_base64": base64.b64encode(b"not gzip").decode()}
