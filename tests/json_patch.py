"""JSON Patch as the API server applies it: the `jsonpatch` library, and its one difference from the server.

RFC 6902 does not say whether `test` for null holds where nothing is; the library says no, the API server yes.
"""

from __future__ import annotations

from typing import Any

from jsonpatch import JsonPatchConflict, JsonPatchTestFailed, apply_patch
from jsonpointer import JsonPointerException, resolve_pointer

Failed = (JsonPatchConflict, JsonPatchTestFailed, JsonPointerException, TypeError)
"""What an operation raises that does not fit the document."""


def apply(document: Any, operations: list[dict[str, Any]]) -> Any:
    """The document after the operations; raises one of `Failed`, and the document stays as it was."""
    for operation in operations:
        nothing = operation["op"] == "test" and operation["value"] is None
        if nothing and resolve_pointer(document, operation["path"], None) is None:
            continue
        document = apply_patch(document, [operation])
    return document
