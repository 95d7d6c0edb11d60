"""Pure: what the bridge keeps of a Kubernetes object, and what counts as a change of it.

Two things make an event cheap: `version` stands apart from the text, so that a bumped resourceVersion alone rewrites
nothing; and the part of the text whose change is news (`fingerprint`) is hashed as it is written.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from functions.webapp.contract import Key
from functions.webapp.resources import RawObject, Resource, controller

MAX_BYTES: Final = 32 * 1024
"""An object whose text is longer is not kept: its snapshot would not fit into an event."""

_METADATA: Final = (
    "name",
    "namespace",
    "uid",
    "generation",
    "labels",
    "annotations",
    "ownerReferences",
    "deletionTimestamp",
)
_TOP: Final = frozenset({"apiVersion", "kind", "metadata", "spec", "status"})
_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_HEARTBEATS: Final = frozenset({"lastUpdateTime", "lastTransitionTime", "lastHeartbeatTime", "lastProbeTime"})
KEP_STAMP: Final = "tracing.k8s.io/traceparent"
"""Where KEP-5915 proposes that whoever writes an intent notes its trace."""

_START: Final = b'{"metadata":{'
_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode


@dataclass(frozen=True, slots=True)
class Pruned:
    """One observed object.

    `text` is its JSON without resourceVersion, None where it is too long to keep or no WebApp owns the object;
    `owner` is the uid of the WebApp that controls it, `stamp` its traceparent annotation.
    """

    resource: Resource
    namespace: str
    name: str
    uid: str
    version: str
    fingerprint: int
    text: bytes | None
    owner: str
    owner_name: str
    stamp: str

    @property
    def key(self) -> Key:
        """The WebApp that this object is, or belongs to."""
        if self.owner:
            return Key(self.namespace, self.owner_name, self.owner)
        return Key(self.namespace, self.name, self.uid)


class Pruner:
    """How objects of one kind are read; `group` owns the traceparent annotation."""

    def __init__(self, resource: Resource, primary: Resource) -> None:
        self.resource = resource
        self._primary = primary
        self._is_primary = resource == primary
        self._stamps = (f"{primary.group}/traceparent", *([KEP_STAMP] if self._is_primary else []))

    def prune(self, obj: RawObject) -> Pruned:
        """What is kept of an object as a list or a watch gave it; of an object that no WebApp owns, only who it is."""
        meta = obj["metadata"]
        owner, owner_name = ("", "") if self._is_primary else self._owner(obj)
        text, fingerprint, stamp = self._text(obj, meta) if self._is_primary or owner else (None, 0, "")
        return Pruned(
            resource=self.resource,
            namespace=sys.intern(meta.get("namespace", "")),
            name=sys.intern(meta["name"]),
            uid=sys.intern(meta["uid"]) if self._is_primary else meta["uid"],  # what it owns names it too
            version=meta["resourceVersion"],
            fingerprint=fingerprint,
            text=text,
            owner=owner,
            owner_name=owner_name,
            stamp=stamp,
        )

    def _text(self, obj: RawObject, metadata: Mapping[str, Any]) -> tuple[bytes | None, int, str]:
        """Text, fingerprint and traceparent: the news is written first, what is no news is put in after it."""
        meta = {field: metadata[field] for field in _METADATA if field in metadata}
        notes = meta.get("annotations") or {}
        if _LAST_APPLIED in notes:
            meta["annotations"] = {name: text for name, text in notes.items() if name != _LAST_APPLIED}
        news: dict[str, Any] = {"metadata": meta, "apiVersion": self.resource.api_version, "kind": self.resource.kind}
        if "spec" in obj:
            news["spec"] = obj["spec"]
        tail = ""
        if "status" in obj:
            if self._is_primary:
                tail = f',"status":{_encode(obj["status"])}'
            else:
                news["status"] = _without_heartbeats(obj["status"])
        text = _encode(news)
        hidden = {field: value for field, value in obj.items() if field not in _TOP}
        fingerprint = (
            hash((text, _encode(hidden))) if hidden else hash(text)
        )  # a Secret's data never leaves the process
        text = f"{text[:-1]}{tail}}}"
        stamp = next((str(notes[name]) for name in self._stamps if name in notes), "")
        return text.encode() if len(text) <= MAX_BYTES else None, fingerprint, stamp

    def _owner(self, obj: RawObject) -> tuple[str, str]:
        ref = controller(obj)
        if ref is None or ref.get("kind") != self._primary.kind:
            return "", ""
        if str(ref.get("apiVersion")).rpartition("/")[0] != self._primary.group:
            return "", ""
        return sys.intern(str(ref.get("uid"))), sys.intern(str(ref.get("name")))


def with_version(text: bytes, version: str) -> bytes:
    """The text as a whole object again, resourceVersion included."""
    return b'%b"resourceVersion":"%b",%b' % (_START, version.encode(), text[len(_START) :])


def _without_heartbeats(status: Any) -> Any:
    conditions = status.get("conditions") if isinstance(status, Mapping) else None
    if not isinstance(conditions, list):
        return status
    kept = [
        {field: value for field, value in each.items() if field not in _HEARTBEATS}
        if isinstance(each, Mapping)
        else each
        for each in conditions
    ]
    return {**status, "conditions": kept}
