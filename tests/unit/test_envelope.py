"""The strict CloudEvents edge on vectors: what it reads, what it refuses, and what it writes."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from cloudevents.core.v1.event import CloudEvent

from functions.webapp import errors
from functions.webapp.envelope import decode, encode_binary, encode_structured, from_json, to_json
from functions.webapp.errors import BadEvent, EventTooLarge, MalformedEvent

VECTORS = Path(__file__).parent.parent / "data" / "cloudevents"
BASE = {
    "specversion": "1.0",
    "id": "a1.7.added",
    "source": "//platform.example.com/clusters/c1/apps/deployments",
    "type": "com.example.platform.deployment.added.v1",
    "time": "2026-03-01T09:30:00Z",
    "datacontenttype": "application/json",
}
HEADERS = {
    "Content-Type": BASE["datacontenttype"],
    **{f"ce-{name}": value for name, value in BASE.items() if name != "datacontenttype"},
}


def vectors(name):
    return [pytest.param(case, id=case["it"]) for case in json.loads((VECTORS / f"{name}.json").read_text("utf-8"))]


def request_of(case):
    """Headers and body of a vector, as tests/data/cloudevents/README.md describes it."""
    if "members" in case or "text" in case:
        headers = {"Content-Type": "application/cloudevents+json", **case.get("headers", {})}
        members = {name: value for name, value in BASE.items() if name not in case.get("without", ())}
        text = case["text"] if "text" in case else json.dumps({**members, **case["members"]})
        return list(headers.items()), text.encode()
    headers = {**HEADERS, **case["headers"]}
    lines = [(name, value) for name, value in headers.items() if value is not None]
    body = bytes.fromhex(case["body_hex"]) if "body_hex" in case else case.get("body", "").encode()
    return [*lines, *map(tuple, case.get("more", ()))], body


def event(data=None, **attributes):
    return CloudEvent({**BASE, "time": datetime(2026, 3, 1, 9, 30, tzinfo=UTC), **attributes}, data)


@pytest.mark.parametrize("case", vectors("valid"))
def test_a_good_request_is_read_and_written_back_in_both_modes(case):
    expected = {name: value for name, value in BASE.items() if name not in case.get("unset", ())} | case["event"]
    headers, body = request_of(case)
    before = deepcopy(headers)
    found = decode(headers, body)
    assert headers == before
    assert to_json(found) == expected
    assert to_json(decode(*wire(encode_structured(found)))) == expected
    if "datacontenttype" in expected and not isinstance(found.get_data(), str):
        again = to_json(decode(*wire(encode_binary(found))))
        assert again == {name: as_text(value) if name != "data" else value for name, value in expected.items()}


@pytest.mark.parametrize("case", vectors("invalid"))
def test_a_bad_request_is_refused_with_the_field_and_the_cure(case):
    with pytest.raises(BadEvent) as caught:
        decode(*request_of(case))
    assert type(caught.value) is getattr(errors, case["error"])
    assert getattr(caught.value, "field", None) == case.get("field")
    assert case["says"] in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("case", vectors("header_values"))
def test_header_values_are_unquoted_and_percent_decoded_once(case):
    headers = [*HEADERS.items(), ("ce-note", case["header"])]
    if case["value"] is None:
        with pytest.raises(MalformedEvent) as caught:
            decode(headers, b"")
        assert caught.value.field == "ce-note"
    else:
        assert decode(headers, b"").get_extension("note") == case["value"]


@pytest.mark.parametrize("mode", [encode_binary, encode_structured])
@pytest.mark.parametrize(
    ("content_type", "data", "received"),
    [("application/json", {"text": "Grüße"}, {"text": "Grüße"}), ("application/xml", b"<a>b</a>", b"<a>b</a>")],
)
def test_both_modes_carry_json_and_xml(mode, content_type, data, received):
    found = decode(*wire(mode(event(data, datacontenttype=content_type))))
    assert found.get_data() == received
    assert found.get_datacontenttype() == content_type


@pytest.mark.parametrize(
    "mode", [request_of({"headers": {}}), request_of({"members": {}})], ids=["binary", "structured"]
)
def test_a_body_at_the_limit_passes_and_one_byte_more_does_not(mode):
    headers, body = mode
    body = body or b"{}"
    decode(headers, body, limit=len(body))
    with pytest.raises(EventTooLarge, match=rf"{len(body)} bytes; at most {len(body) - 1}"):
        decode(headers, body, limit=len(body) - 1)


@pytest.mark.parametrize("depth", [101, 5_000, 100_000])
def test_deep_nesting_is_refused_at_one_depth_however_deep_the_caller_stands(depth):
    assert decode(list(HEADERS.items()), b"[" * 100 + b"]" * 100).get_data()
    with pytest.raises(MalformedEvent, match="data: is nested deeper than 100 levels"):
        decode(list(HEADERS.items()), b"[" * depth + b"]" * depth)


def test_unreserved_values_go_out_as_they_are():
    headers, body = encode_binary(event(b'{"a":1}', partitionkey="shop/web", subject="/apis/apps/v1/deployments/web"))
    assert headers == {
        "ce-specversion": "1.0",
        "ce-id": BASE["id"],
        "ce-source": BASE["source"],
        "ce-type": BASE["type"],
        "ce-time": "2026-03-01T09:30:00Z",
        "ce-partitionkey": "shop/web",
        "ce-subject": "/apis/apps/v1/deployments/web",
        "content-type": "application/json",
    }
    assert body == b'{"a":1}'


def test_what_a_header_cannot_carry_is_percent_encoded():
    headers, _ = encode_binary(event(subject='Euro € 😀 "100%"~!'))
    assert headers["ce-subject"] == "Euro%20%E2%82%AC%20%F0%9F%98%80%20%22100%25%22~!"


@pytest.mark.parametrize(
    ("value", "header", "member"),
    [
        (True, "true", True),
        (False, "false", False),
        (-7, "-7", -7),
        (b"\x01\xff", "Af8=", "Af8="),
        (datetime(2026, 3, 1, 9, 30, 0, 5, timezone(timedelta(hours=2))), *["2026-03-01T07:30:00.000005Z"] * 2),
    ],
)
def test_extensions_go_out_in_canonical_form(value, header, member):
    assert encode_binary(event(ext=value))[0]["ce-ext"] == header
    assert to_json(event(ext=value))["ext"] == member


@pytest.mark.parametrize(
    ("data", "content_type", "sent_type", "sent"),
    [
        ([1, {"a": True}], None, "application/json", b'[1,{"a":true}]'),
        (True, "application/json", "application/json", b"true"),
        ("hello", "application/json", "application/json", b'"hello"'),
        ("hällo", "text/plain", "text/plain", "hällo".encode()),
        (b"\x00", None, "application/octet-stream", b"\x00"),
        (None, "application/json", "application/json", b""),
    ],
)
def test_data_goes_out_in_the_form_that_its_type_names(data, content_type, sent_type, sent):
    headers, body = encode_binary(event(data, datacontenttype=content_type) if content_type else untyped(data))
    assert (headers["content-type"], body) == (sent_type, sent)


def test_no_data_and_no_type_send_no_content_type():
    headers, body = encode_binary(untyped(None))
    assert "content-type" not in headers
    assert body == b""


def test_json_bytes_are_a_json_value_in_the_json_format():
    assert to_json(event(b'{"a": 1}'))["data"] == {"a": 1}
    assert "data" not in to_json(event(b"null"))
    with pytest.raises(MalformedEvent, match="data: is not JSON"):
        encode_structured(event(b"{"))


def looped() -> list[Any]:
    found: list[Any] = []
    found.append(found)
    return found


@pytest.mark.parametrize("mode", [encode_binary, encode_structured])
@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (lambda: event(source="a b"), "source"),
        (lambda: event(ext=1.5), "ext"),
        (lambda: event(ext=2**31), "ext"),
        (lambda: event(ext="\ud800"), "ext"),
        (lambda: event(ext=datetime(2026, 3, 1)), "ext"),  # noqa: DTZ001 - naive on purpose
        (lambda: event(ext=datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1)))), "ext"),
        (lambda: event(datacontenttype="text/plain\r\nx: y"), "datacontenttype"),
        (lambda: event({"a": float("nan")}), "data"),
        (lambda: event({"a": {1, 2}}), "data"),
        (lambda: event({"a": "\ud800"}), "data"),
        (lambda: event(looped()), "data"),
        (lambda: event([1], datacontenttype="text/plain"), "data"),
        (lambda: event("\ud800", datacontenttype="text/plain"), "data"),
    ],
)
def test_nothing_goes_out_that_would_not_come_in(mode, bad, field):
    with pytest.raises(MalformedEvent) as caught:
        mode(bad())
    assert caught.value.field == field


def test_a_text_in_a_charset_of_its_own_goes_out_only_as_bytes():
    latin = "text/plain; charset=iso-8859-1"
    assert encode_binary(event(b"Gr\xfc\xdfe", datacontenttype=latin))[1] == b"Gr\xfc\xdfe"
    with pytest.raises(MalformedEvent, match="data: is a text; give it as bytes in iso-8859-1"):
        encode_binary(event("Grüße", datacontenttype=latin))


def test_a_parsed_object_is_read_without_being_changed():
    members = {**BASE, "note": None, "data": {"a": [1]}}
    before = deepcopy(members)
    found = from_json(members)
    found.get_attributes()["note"] = "mine"
    assert members == before


def test_time_is_a_moment_to_reckon_with():
    headers = [(name, value) for name, value in HEADERS.items() if name != "ce-time"]
    moment = decode([*headers, ("ce-time", "2016-12-31T18:59:60.9999999-05:00")], b"").get_time()
    assert moment == datetime(2017, 1, 1, 0, 0, 0, 999999, tzinfo=UTC)
    later = event(ext=moment + timedelta(seconds=1))
    assert to_json(later)["ext"] == "2017-01-01T00:00:01.999999Z"


def untyped(data):
    return CloudEvent({name: BASE[name] for name in ("specversion", "id", "source", "type")}, data)


def wire(message):
    headers, body = message
    return list(headers.items()), body


def as_text(value):
    return json.dumps(value) if isinstance(value, bool | int) else value
