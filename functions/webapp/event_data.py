"""Pure: the data of a CloudEvent, as bytes and as a value; its media type alone decides between them.

| media type | value |
|---|---|
| JSON | what the text says; None for `null` |
| text in UTF-8 | str |
| anything else | bytes |

No bytes are no data: None. Everything here raises ValueError, with a message to stand behind the name of the field.
"""

from __future__ import annotations

from typing import Any, Final

from functions.webapp import strict_json
from functions.webapp.media_type import MediaType

JSON: Final = "application/json"
BINARY: Final = "application/octet-stream"


def media_type(data: Any, declared: str | None) -> str:
    """What the data is: as declared, else JSON, as the JSON format implies, but for bytes."""
    return declared or (BINARY if isinstance(data, bytes) else JSON)


def read(content: bytes, content_type: str) -> Any:
    """The value of a body, or of what `data_base64` held."""
    if not content:
        return None
    media = MediaType.parse(content_type)
    if media.is_json:
        if not media.is_utf8:
            raise ValueError(f"is JSON in {', '.join(sorted(media.charsets))}; send JSON in UTF-8 (RFC 8259)")
        return strict_json.loads(content)
    if not media.is_text:
        return content
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"is not UTF-8 at byte {error.start}; name its charset in the Content-Type") from None


def write(data: Any, content_type: str) -> bytes:
    """The body for a value; bytes are taken to be one already."""
    if data is None:
        return b""
    if isinstance(data, bytes):
        return data
    check(data, content_type)
    media = MediaType.parse(content_type)
    if media.is_json:
        return strict_json.dumps(data)
    if not media.is_utf8:
        raise ValueError(f"is a text; give it as bytes in {', '.join(sorted(media.charsets))}, as declared")
    try:
        return bytes(data.encode("utf-8"))
    except UnicodeEncodeError:
        raise ValueError("has an unpaired surrogate, which is no Unicode text") from None


def check(data: Any, content_type: str) -> None:
    """Only JSON may be anything but a text (JSON format 1.0.2, section 3.1.1)."""
    if not (isinstance(data, str) or MediaType.parse(content_type).is_json):
        raise ValueError(f"is a JSON {type(data).__name__}, but datacontenttype is {ascii(content_type)[:80]}")
