"""Pure: CloudEvents 1.0.2 over HTTP and as JSON, strict on the way in and on the way out.

The event class is the SDK's; reading and writing are not, because `cloudevents.core` 2.2 invents a missing id and time,
lets headers override the mode that Content-Type names, turns broken JSON into text, and raises whatever comes along.

What `get_data()` of an event returns is told by `event_data`, and `get_time()` is a `timestamp.Timestamp`, or None.
"""

from __future__ import annotations

from base64 import b64encode
from binascii import a2b_base64
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from cloudevents.core.v1.event import CloudEvent

from functions.webapp import attributes, event_data, header_value, strict_json
from functions.webapp.errors import EventTooLarge, MalformedEvent, UnsupportedMediaType
from functions.webapp.media_type import MediaType

STRUCTURED: Final = "application/cloudevents+json"
MAX_BYTES: Final = 4 * 64 * 1024
"""Four times what every CloudEvents intermediary must forward (CloudEvents 1.0.2, Size Limits)."""


def decode(headers: Sequence[tuple[str, str]], body: bytes, *, limit: int = MAX_BYTES) -> CloudEvent:
    """Read the event of one HTTP request, in whichever mode its Content-Type names (HTTP binding section 3).

    `headers` are pairs, so that a repeated one is seen. Raises EventTooLarge for a body longer than `limit` bytes,
    UnsupportedMediaType for batches and for what is in no mode at all, MalformedEvent for everything else that is
    wrong. Nothing else is raised, whatever the bytes.
    """
    if len(body) > limit:
        raise EventTooLarge(f"the body has {len(body)} bytes; at most {limit} are accepted")
    content_type = _content_type(headers)
    mode = content_type.lower()
    if mode.startswith("application/cloudevents-batch"):
        raise UnsupportedMediaType("batches of events are not accepted; send one event per request")
    if mode.startswith("application/cloudevents"):
        return _structured(content_type, body)
    return _binary(headers, content_type, body)


def encode_binary(event: CloudEvent) -> tuple[dict[str, str], bytes]:
    """Headers (names in lower case) and body in binary mode. Raises MalformedEvent for what no receiver should accept.

    Data that is bytes goes out as it is; data without a datacontenttype gets a Content-Type that fits it.
    """
    found = attributes.checked(event.get_attributes())
    data, declared = event.get_data(), found.pop("datacontenttype", None)
    headers: dict[str, str] = {}
    for name, value in found.items():
        with _about(name):
            headers[f"ce-{name}"] = header_value.encode(attributes.text(value))
    content_type = event_data.media_type(data, declared)
    if declared or data is not None:
        headers["content-type"] = content_type
    with _about("data"):
        return headers, event_data.write(data, content_type)


def encode_structured(event: CloudEvent) -> tuple[dict[str, str], bytes]:
    """Headers and body in structured mode. Raises MalformedEvent for what no receiver should accept."""
    with _about("data"):
        return {"content-type": STRUCTURED}, strict_json.dumps(to_json(event))


def to_json(event: CloudEvent) -> dict[str, Any]:
    """The event in the CloudEvents JSON format, which `from_json` reads. Raises MalformedEvent.

    Bytes declared to be JSON become the value they spell, so that a line in a file can be read by people.
    """
    found = attributes.checked(event.get_attributes())
    members = {name: value if isinstance(value, int) else attributes.text(value) for name, value in found.items()}
    data = event.get_data()
    content_type = event_data.media_type(data, found.get("datacontenttype"))
    with _about("data"):
        if isinstance(data, bytes) and not MediaType.parse(content_type).is_json:
            return {**members, "data_base64": b64encode(data).decode("ascii")}
        value = event_data.read(data, content_type) if isinstance(data, bytes) else data
        if value is None:
            return members
        event_data.check(value, content_type)
        return {**members, "data": value}


def from_json(obj: Any) -> CloudEvent:
    """Read an event from its CloudEvents JSON format, parsed already. Raises MalformedEvent; leaves `obj` alone."""
    if not isinstance(obj, Mapping):
        raise MalformedEvent("event", "must be a JSON object")
    found = attributes.checked({name: obj[name] for name in obj if name not in {"data", "data_base64"}})
    data, encoded, declared = obj.get("data"), obj.get("data_base64"), found.get("datacontenttype")
    if encoded is not None:
        if data is not None:
            raise MalformedEvent("data_base64", "excludes data; send one of them")
        with _about("data_base64"):
            return _event(found, event_data.read(_base64(encoded), declared or event_data.BINARY))
    if data is not None:
        with _about("data"):
            event_data.check(data, declared or event_data.JSON)
    return _event(found, data)


def _structured(content_type: str, body: bytes) -> CloudEvent:
    media = _media_type(content_type)
    if media.name != STRUCTURED or not media.is_utf8:
        raise UnsupportedMediaType(f"{ascii(content_type)[:80]} is not accepted; send {STRUCTURED} in UTF-8")
    with _about("event"):
        return from_json(strict_json.loads(body))


def _binary(headers: Sequence[tuple[str, str]], content_type: str, body: bytes) -> CloudEvent:
    found = _ce_headers(headers)
    if not found:
        raise UnsupportedMediaType(
            f"the ce-specversion header is missing, and Content-Type {ascii(content_type)[:80]} alone names no event; "
            f"add ce-specversion, ce-id, ce-source and ce-type, or, where the body is a whole event, send it as "
            f"Content-Type: {STRUCTURED} (curl --json needs -H 'Content-Type: {STRUCTURED}' as well)"
        )
    if content_type:
        media = _media_type(content_type)
        if media.is_json and not media.is_utf8:
            raise UnsupportedMediaType(f"Content-Type {ascii(content_type)[:80]}: send JSON in UTF-8 (RFC 8259)")
        found["datacontenttype"] = content_type
    elif body:
        raise UnsupportedMediaType(
            "Content-Type is missing although there is a body; send Content-Type: application/json"
        )
    found = attributes.checked(found, prefix="ce-")
    with _about("data"):
        return _event(found, event_data.read(body, content_type or event_data.BINARY))


def _ce_headers(headers: Sequence[tuple[str, str]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for header, value in headers:
        field = header.lower() if header.isascii() else header  # the Kelvin sign lowers to k
        if not field.startswith("ce-"):
            continue
        name = field.removeprefix("ce-")
        if name == "datacontenttype":
            raise MalformedEvent(field, "must not be sent in binary mode; Content-Type is the datacontenttype")
        if name in found:
            raise MalformedEvent(attributes.label(name, prefix="ce-"), "is there twice; send it once")
        try:
            found[name] = header_value.decode(value)
        except ValueError as error:
            raise MalformedEvent(attributes.label(name, prefix="ce-"), str(error)) from None
    return found


def _content_type(headers: Sequence[tuple[str, str]]) -> str:
    found = [value.strip(" \t") for name, value in headers if name.lower() == "content-type"]
    if len(found) > 1:
        raise MalformedEvent("content-type", "is there twice; send it once")
    return found[0] if found else ""


def _media_type(content_type: str) -> MediaType:
    try:
        return MediaType.parse(content_type)
    except ValueError as error:
        raise UnsupportedMediaType(f"Content-Type: {error}") from None


def _base64(encoded: Any) -> bytes:
    try:
        return a2b_base64(encoded, strict_mode=True)
    except (TypeError, ValueError):
        raise ValueError("must be a text in base64 (RFC 4648 section 4), padding included") from None


def _event(found: dict[str, Any], data: Any) -> CloudEvent:
    timeless = "time" not in found
    event = CloudEvent(found, data)
    if timeless:  # the SDK filled in its own clock
        del found["time"]
    return event


@contextmanager
def _about(field: str) -> Iterator[None]:
    """What is wrong inside is wrong with this field."""
    try:
        yield
    except ValueError as error:
        raise MalformedEvent(field, str(error)) from None
