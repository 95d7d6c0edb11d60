"""A request's header fields as they came.

WSGI joins fields of one name with commas, after which the group `a,system:masters` looks like two groups, and it has no
way to tell names with `_` from those with `-`. gunicorn's request still has them; they reach the app under a name that
no client can send.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from gunicorn.http import Request

from functions.aggregation.requestheader import Fields

_NAME = "FIELDS AS THEY CAME"
"""Not a token (RFC 9110 section 5.6.2), so gunicorn's parser refuses a request that has such a field."""

SETTINGS: Mapping[str, Any] = {
    "pre_request": lambda _worker, request: keep(request),
    "header_map": "dangerous",  # else fields with `_` are gone before anybody sees them; `keep` takes them out
    "limit_request_fields": 2048,  # each group of a user is a field
}
"""What gunicorn needs to be told, by its own names."""


def keep(request: Request) -> None:
    """Called before the WSGI environment is made."""
    came = [(name, value) for name, value in request.headers if name != _NAME]
    request.headers = [*((name, value) for name, value in came if "_" not in name), (_NAME, json.dumps(came))]


def fields(environ: Mapping[str, Any]) -> Fields:
    """The fields of the request that is handled; raises KeyError under a server that was not given SETTINGS."""
    return [(name, value) for name, value in json.loads(environ[f"HTTP_{_NAME}"])]
