"""The answers that never change while the server runs: discovery, OpenAPI, version, as bytes with an ETag."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from typing import Any

from functions.aggregation import discovery, openapi
from functions.aggregation.kind import Kind
from functions.aggregation.negotiation import GROUP_LISTS, PLAIN, Form

_PACKAGE = "webapp-operator"


@dataclass(frozen=True, slots=True)
class Document:
    """A body, its type and its digest."""

    body: bytes
    media_type: str
    digest: str

    @classmethod
    def of(cls, value: Any, media_type: str = PLAIN.media_type) -> Document:
        """JSON, ready to be sent."""
        body = json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
        return cls(body, media_type, sha256(body).hexdigest().upper())


def documents(kinds: Sequence[Kind]) -> dict[str, Mapping[Form, Document]]:
    """By path, by form."""
    found: dict[str, Mapping[Form, Document]] = {
        "/apis": {
            PLAIN: Document.of(discovery.group_list(kinds)),
            **{form: Document.of(discovery.group_discovery(kinds, form), form.media_type) for form in GROUP_LISTS},
        },
        "/version": {PLAIN: Document.of({"gitVersion": f"v{version(_PACKAGE)}", "platform": "python"})},
    }
    digests: dict[tuple[str, str], str] = {}
    for group, served in discovery.versions(kinds).items():
        found[f"/apis/{group}"] = {PLAIN: Document.of(discovery.group(kinds, group))}
        for each in served:
            root = f"/apis/{group}/{each}"
            described = [kind for kind in kinds if kind.resource.root == root]
            schema = Document.of(openapi.document(described))
            digests[group, each] = schema.digest
            found[root] = {PLAIN: Document.of(discovery.resource_list(kinds, group, each))}
            found[f"/openapi/v3{root}"] = {PLAIN: schema}
    found["/openapi/v3"] = {PLAIN: Document.of(openapi.root(digests))}
    return found
