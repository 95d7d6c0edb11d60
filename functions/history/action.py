"""Pure: what a run did to each object, out of its plan and its API calls."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from functions.webapp.finished import Finished
from functions.webapp.resources import KIND, OWNED, PLURAL

DONE: Final = "Done"
"""The `result` of a write that was made; of any other it is the error's name, such as `conflict`."""

MAX_ACTIONS: Final = 64

_KINDS: Final = {**{each.plural: each.kind for each in OWNED}, PLURAL: KIND}
_VERBS: Final = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}


def actions(run: Finished) -> list[dict[str, str]]:
    """Each as {verb, kind, name, result}: first the writes that were made, then those that the API server refused.

    No values: a patch may set what not everybody who reads a history may see.
    """
    done = [{"verb": str(each["verb"]), "kind": str(each["kind"]), "name": str(each["name"])} for each in run.plan]
    failed = [found for call in run.calls if (found := _refused(call, run.webapp.name))]
    return [*({**each, "result": DONE} for each in done), *failed][:MAX_ACTIONS]


def _refused(call: Mapping[str, Any], webapp: str) -> dict[str, str] | None:
    """A write to a child or to the WebApp's status that was answered with an error; a create names only its kind."""
    verb, error = _VERBS.get(str(call["method"])), call.get("error")
    segments = str(call["path"]).strip("/").split("/")
    kind = next((_KINDS[each] for each in reversed(segments) if each in _KINDS), None)
    if verb is None or kind is None or not isinstance(error, str):
        return None
    return {"verb": verb, "kind": kind, "name": webapp, "result": error[:64]}
