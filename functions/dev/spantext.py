"""Pure: what a span is called and what is worth telling of it, in a few words."""

from __future__ import annotations

from urllib.parse import urlsplit

from functions.dev.otlp import Happening, Span
from functions.runtime import names
from functions.runtime.names import Attr, Mark


def title(span: Span) -> str:
    """Its name; an API call by the object that it is about."""
    url = span.attributes.get(Attr.URL_FULL)
    if Attr.URL_TEMPLATE not in span.attributes or not url:
        return span.name
    path = urlsplit(str(url)).path
    _, _, about = path.partition("/namespaces/")
    return f"{span.attributes.get(Attr.HTTP_METHOD)} {about.partition('/')[2] or path}"


def detail(span: Span) -> str:
    """What came of it, and what is unusual about it."""
    get = span.attributes.get
    told: list[object] = []
    if span.name == names.Span.PUBLISH:
        told += [f"{get(Attr.OBJECT_KIND)} {get(Attr.OBJECT_NAME)} {get(Attr.CHANGE)}"]
        told += [f"{get(Attr.COALESCED)} changes"] if get(Attr.COALESCED, 1) != 1 else []
    told += [get(Attr.HTTP_STATUS), get(Attr.PLAN)]
    if span.name != names.Span.PUBLISH:
        told += [get(Attr.OUTCOME)]
    told += [get(Attr.REASON), f"retry {get(Attr.HTTP_RESEND)}" if get(Attr.HTTP_RESEND) else ""]
    if isinstance(attempts := get(Attr.ATTEMPTS), int) and attempts > 1:
        told.append(f"{attempts} attempts")
    told += ["cold start" if get(Attr.FAAS_COLDSTART) else "", "dry run" if get(Attr.DRY_RUN) else ""]
    if isinstance(age := get(Attr.EVENT_AGE), int):
        told.append(f"event {time(age * 1_000_000)} old")
    if span.failed:
        told.append(f"✗ {get(Attr.ERROR_TYPE, 'error')}: {span.message}".removesuffix(f": {get(Attr.ERROR_TYPE)}"))
    return " · ".join(str(each) for each in told if each)


def is_conflict(each: Happening) -> bool:
    """Whether it tells of a write that met a newer object."""
    return each.name == Mark.CONFLICT


def happening(each: Happening) -> tuple[str, str]:
    """Name and telling of one moment."""
    get = each.attributes.get
    match each.name:
        case Mark.CONFLICT:
            found = get(Attr.VERSION_FOUND) or "nothing read"
            versions = f"sent {get(Attr.VERSION_SENT) or 'a new object'}, found {found}"
            return "! conflict", f"{get(Attr.OBJECT_KIND)}: {versions}, attempt {get(Attr.ATTEMPT)}"
        case Mark.CONDITION_CHANGED:
            return "· Ready", f"{get(Attr.CONDITION_FROM) or 'unknown'} → {get(Attr.CONDITION_TO)}"
        case _:
            return f"· {each.name}", ", ".join(f"{key}={value}" for key, value in each.attributes.items())


def time(nanoseconds: int) -> str:
    """A span of time in the unit that fits."""
    milliseconds = nanoseconds / 1e6
    if abs(milliseconds) < 10:
        return f"{milliseconds:.2f} ms"
    if abs(milliseconds) < 1000:
        return f"{milliseconds:.1f} ms"
    if abs(milliseconds) < 600_000:
        return f"{milliseconds / 1000:.2f} s"
    return f"{milliseconds / 60_000:.1f} min"
