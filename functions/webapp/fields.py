"""Pure: the leaves of the WebApp model: what a name, a host, a quantity may look like, and how far anything may grow.

Patterns stay inside the syntax that RE2 (API server), Rust (pydantic) and Python (jsonschema) read alike. Sources:
RFC 1035 and 1123 for names, apimachinery `pkg/api/resource` for quantities, `pkg/apis/core/validation` for the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final

from pydantic import BeforeValidator, Field, WithJsonSchema
from pydantic_core import PydanticCustomError

MAX_INT32: Final = 2**31 - 1
MAX_EXACT_INT: Final = 2**53 - 1  # the largest integer that every JSON reader keeps exact
MAX_QUANTITY: Final = 32

_LABEL = "[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?"
SUBDOMAIN: Final = rf"^{_LABEL}(\.{_LABEL})*$"
NAME: Final = "^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$"
KEY: Final = "^[-._a-zA-Z0-9]+$"
ENV_NAME: Final = "^[-_a-zA-Z][-._a-zA-Z0-9]*$"
LABEL_VALUE: Final = "^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$"
QUALIFIED_NAME: Final = rf"^({_LABEL}(\.{_LABEL})*/)?[A-Za-z0-9]([-A-Za-z0-9_.]{{0,61}}[A-Za-z0-9])?$"
QUANTITY: Final = r"^\+?([0-9]+(\.[0-9]*)?|\.[0-9]+)([KMGTPE]i|[numkMGTPE]|[eE][-+]?[0-9]{1,2})?$"
VISIBLE: Final = "^[!-~]+$"
PATH: Final = "^/[!-~]*$"
POD_FIELD: Final = (
    r"^(metadata\.(name|namespace|uid|(labels|annotations)\['[^']+'\])"
    r"|spec\.(nodeName|serviceAccountName)|status\.(hostIP|hostIPs|podIP|podIPs))$"
)
CONTAINER_RESOURCE: Final = r"^(limits|requests)\.(cpu|memory|ephemeral-storage|hugepages-[0-9]+[KMG]i)$"
CONDITION_REASON: Final = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"

WORDS: Final[Mapping[str, str]] = {
    SUBDOMAIN: "a lower-case DNS name: labels of a-z, 0-9 and '-', joined by '.', such as blog.example.com",
    NAME: "a DNS label: at most 63 of a-z, 0-9 and '-', beginning with a letter and not ending with '-'",
    KEY: "made of letters, digits, '-', '_' and '.'",
    ENV_NAME: "made of letters, digits, '_', '-' and '.', and must not begin with a digit or '.'",
    LABEL_VALUE: "a label value: letters, digits, '-', '_' and '.', beginning and ending with a letter or digit",
    QUALIFIED_NAME: "a qualified name, such as cpu or example.com/gpu",
    QUANTITY: "a quantity that is not negative, such as 500m, 0.5 or 128Mi",
    VISIBLE: "visible ASCII characters without spaces",
    PATH: "a path that begins with '/' and has no spaces, such as /healthz",
    POD_FIELD: "a field that a pod can read, such as metadata.name or status.podIP",
    CONTAINER_RESOURCE: "a resource of the container, such as limits.memory or requests.cpu",
    CONDITION_REASON: "one CamelCase word",
}
"""What each pattern asks for, to follow "must be"."""


def matches(pattern: str, text: str) -> bool:
    """Tell whether the whole text has the form of one of the patterns above."""
    return re.fullmatch(pattern, text) is not None


def _quantity_text(raw: Any) -> Any:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return raw
    if isinstance(raw, float):
        raise PydanticCustomError("quantity", "must be an integer or a string: put it in quotes")
    if raw > MAX_EXACT_INT:
        raise PydanticCustomError("quantity", "must be at most 9007199254740991 as an integer: write it as a string")
    return str(raw)


Quantity = Annotated[
    str,
    Field(pattern=QUANTITY, max_length=MAX_QUANTITY),
    BeforeValidator(_quantity_text),
    WithJsonSchema(
        {
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "maxLength": MAX_QUANTITY,
            "maximum": MAX_EXACT_INT,
            "minimum": 0,
            "pattern": QUANTITY,
            "x-kubernetes-int-or-string": True,
        },
    ),
]
"""An amount of a resource; integers are accepted and kept as text."""

Subdomain = Annotated[str, Field(min_length=1, max_length=253, pattern=SUBDOMAIN)]
Int32 = Annotated[int, Field(ge=0, le=MAX_INT32, json_schema_extra={"format": "int32"})]
Int64 = Annotated[int, Field(ge=0, le=MAX_EXACT_INT, json_schema_extra={"format": "int64"})]
UnixId = Annotated[int, Field(ge=0, le=MAX_INT32, json_schema_extra={"format": "int64"})]
