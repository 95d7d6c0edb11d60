"""The strict CloudEvents edge on what nobody thought of: round trips, and bytes at random."""

from __future__ import annotations

import json
from copy import deepcopy
from datetime import UTC, datetime

from cloudevents.core.v1.event import CloudEvent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from functions.webapp.envelope import decode, encode_binary, encode_structured, from_json, to_json
from functions.webapp.errors import EventTooLarge, MalformedEvent, UnsupportedMediaType

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NONCHARACTERS = [chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF)]
texts = st.text(
    st.characters(exclude_categories=["Cc", "Cs"], exclude_characters=NONCHARACTERS).filter(
        lambda char: not "\ufdd0" <= char <= "\ufdef"
    )
)
names = st.from_regex(r"\A[a-z0-9]{1,20}\Z").filter(
    lambda name: name not in {"data", "time", "subject", "dataschema", "specversion", "id", "source", "type"}
)
times = st.datetimes(datetime(1970, 1, 1), datetime(2200, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - bounds
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)
payloads = st.one_of(
    st.tuples(st.sampled_from(["application/json", "Text/JSON; charset=UTF-8", "a/vnd.b_c+json"]), json_values),
    st.tuples(st.sampled_from(["text/plain", "text/csv; charset=utf-8"]), st.text(min_size=1)),
    st.tuples(st.sampled_from(["application/xml", "text/plain; charset=x", "image/png"]), st.binary(min_size=1)),
)


@st.composite
def events(draw, extensions):
    content_type, data = draw(payloads)
    attributes = {
        **draw(st.dictionaries(names, extensions, max_size=5)),
        "specversion": "1.0",
        "id": draw(texts.filter(bool)),
        "source": draw(st.sampled_from(["/", "urn:a:b", "//h:1/%20?q#f", "https://10.0.0.1:443"])),
        "type": draw(texts.filter(bool)),
        "datacontenttype": content_type,
    }
    for name, values in {"subject": texts.filter(bool), "time": times}.items():
        if draw(st.booleans()):
            attributes[name] = draw(values)
    event = CloudEvent(attributes, data)
    if draw(st.booleans()):
        attributes.pop("time", None)
    return event


@patient
@given(events(texts))
def test_binary_mode_gives_back_what_was_sent(event):
    before = deepcopy(event.get_attributes())
    headers, body = encode_binary(event)
    assert event.get_attributes() == before
    assert all(value.isascii() and value.isprintable() for value in headers.values())
    assert not any(" " in value for name, value in headers.items() if name.startswith("ce-"))
    found = decode(list(headers.items()), body)
    assert (found.get_attributes(), found.get_data()) == (before, event.get_data())


@patient
@given(events(texts | st.booleans() | st.integers(-(2**31), 2**31 - 1)))
def test_structured_mode_gives_back_what_was_sent(event):
    before = deepcopy(event.get_attributes())
    headers, body = encode_structured(event)
    found = decode(list(headers.items()), body)
    assert (found.get_attributes(), found.get_data()) == (before, event.get_data())


@patient
@given(events(texts))
def test_an_event_is_one_line_of_a_file(event):
    line = json.dumps(to_json(event))
    assert "\n" not in line
    found = from_json(json.loads(line))
    assert (found.get_attributes(), found.get_data()) == (event.get_attributes(), event.get_data())


GOOD = [
    ("Content-Type", "application/json"),
    ("ce-specversion", "1.0"),
    ("ce-id", "1"),
    ("ce-source", "/s"),
    ("ce-type", "t"),
]
STRUCTURED = [("Content-Type", "application/cloudevents+json")]
MEMBERS = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "datacontenttype": "application/json"}
header_names = st.sampled_from(
    [
        "content-type",
        "Content-Type",
        *(f"ce-{name}" for name in [*MEMBERS, "time", "dataschema", "data", "x"]),
        "ce-",
        "X",
    ]
)
content_types = st.sampled_from(
    [
        "application/json",
        "application/cloudevents+json",
        "application/cloudevents-batch+json",
        "APPLICATION/CLOUDEVENTS",
        'text/plain; charset="utf-8"',
        "text/plain; charset=\x00",
        "a/b;;; c=d",
        "",
    ]
)
header_values = st.text() | content_types | st.from_regex(r"[\"%\\0-9A-Fa-f ]{0,8}")
bodies = st.one_of(
    st.binary(),
    json_values.map(json.dumps).map(str.encode),
    st.dictionaries(
        st.sampled_from([*MEMBERS, "time", "data", "data_base64", "x"]) | st.text(), json_values, max_size=6
    )
    .map(lambda changed: json.dumps({**MEMBERS, **changed}))
    .map(str.encode),
    st.sampled_from(
        [b"[" * 3_000, b'{"a":' * 3_000, b"NaN", b"1e999", b"9" * 5_000, b'"\\ud800"', b"\xef\xbb\xbf{}", b""]
    ),
)


def outcome(headers, body, **limits):
    """Decode, or one of the three errors; anything else fails the test that asks."""
    before, said = list(headers), ""
    event = None
    try:
        event = decode(headers, body, **limits)
    except (MalformedEvent, UnsupportedMediaType, EventTooLarge) as error:
        said = str(error)
    assert said.isprintable()
    assert headers == before
    return event


@patient
@given(st.lists(st.tuples(st.text() | header_names, header_values)), bodies, st.integers(0, 200))
def test_no_request_at_all_ends_in_anything_but_an_event_or_a_refusal(headers, body, limit):
    event = outcome(headers, body, limit=limit)
    assert event is None or len(body) <= limit


@patient
@given(st.sampled_from([GOOD, STRUCTURED]), st.lists(st.tuples(header_names, header_values), max_size=3), bodies)
def test_what_is_accepted_can_be_sent_on_and_is_the_same_there(base, changes, body):
    changed = {name.lower() for name, _ in changes}
    headers = [(name, value) for name, value in base if name.lower() not in changed] + changes
    event = outcome(headers, body)
    if event is not None:
        once = to_json(event)
        resent, sent = encode_structured(event)
        assert to_json(decode(list(resent.items()), sent)) == once
        assert set(MEMBERS) - {"datacontenttype"} <= set(once)


@patient
@given(st.sampled_from([GOOD, STRUCTURED]), st.data())
def test_a_request_with_bytes_flipped_is_an_event_or_a_refusal(base, data):
    wire = json.dumps({**MEMBERS, "time": "2026-01-31T09:30:00Z", "data": {"a": [1, None]}}).encode()
    cut = bytearray(wire)
    for _ in range(data.draw(st.integers(0, 4))):
        cut[data.draw(st.integers(0, len(cut) - 1))] = data.draw(st.integers(0, 255))
    outcome(base, bytes(cut))
