"""Pure: what the bridge remembers of the cluster: per object a few hundred bytes, never a parsed object.

Texts are deflated against the first text of their kind as the dictionary: objects of one kind differ little, so 1.7 KiB
of a Deployment become some 150 bytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from typing import Final

from event_bridge.pruning import Pruned, with_version
from functions.webapp.contract import Key
from functions.webapp.resources import Resource

_WINDOW: Final = -13
"""Raw deflate with a window of 8 KiB: about the length of two objects."""

_LEVEL: Final = 3
_MEMORY: Final = 5


class Entry:
    """One remembered object."""

    __slots__ = ("fingerprint", "name", "namespace", "owner", "owner_name", "packed", "resource", "uid", "version")

    def __init__(self, new: Pruned) -> None:
        self.resource = new.resource
        self.namespace = new.namespace
        self.name = new.name
        self.uid = new.uid
        self.packed: bytes | None = None
        self.update(new)

    def update(self, new: Pruned) -> None:
        """Take over everything of a newer observation but its text."""
        self.version = new.version
        self.fingerprint = new.fingerprint
        self.owner = new.owner
        self.owner_name = new.owner_name

    @property
    def key(self) -> Key:
        """The WebApp that this object is, or belongs to."""
        if self.owner:
            return Key(self.namespace, self.owner_name, self.owner)
        return Key(self.namespace, self.name, self.uid)


class Cache:
    """All WebApps and the objects they own; the caller holds a lock."""

    def __init__(self, primary: Resource, owned: Iterable[Resource]) -> None:
        self.primary = primary
        self._kinds: dict[Resource, dict[str, Entry]] = {kind: {} for kind in (primary, *owned)}
        self._webapps = self._kinds[primary]
        self._owned: dict[str, tuple[Entry, ...]] = {}
        self._holders: dict[tuple[str, str], str] = {}
        self._dictionaries: dict[Resource, bytes] = {}

    def get(self, resource: Resource, uid: str) -> Entry | None:
        """What was last seen of one object."""
        return self._kinds[resource].get(uid)

    def put(self, new: Pruned) -> None:
        """Remember an observation, in place of the one before."""
        kind = self._kinds[new.resource]
        entry = kind.get(new.uid)
        if entry is None:
            entry = kind[new.uid] = Entry(new)
            entry.packed = self._pack(new)
            self._index(entry)
            return
        same_text = entry.fingerprint == new.fingerprint and new.resource != self.primary
        if entry.owner != new.owner:
            self._unindex(entry)
            entry.update(new)
            self._index(entry)
        else:
            entry.update(new)
        if not same_text:
            entry.packed = self._pack(new)

    def drop(self, resource: Resource, uid: str) -> None:
        """Forget an object."""
        entry = self._kinds[resource].pop(uid, None)
        if entry is not None:
            self._unindex(entry)

    def uids(self, resource: Resource, namespace: str = "") -> set[str]:
        """The objects of one kind, of one namespace or of all."""
        kind = self._kinds[resource]
        return {uid for uid, entry in kind.items() if entry.namespace == namespace} if namespace else set(kind)

    def webapp(self, uid: str) -> Entry | None:
        """The WebApp of that uid."""
        return self._webapps.get(uid)

    def webapps(self) -> Iterator[Entry]:
        """All WebApps."""
        return iter(self._webapps.values())

    def holder(self, namespace: str, name: str) -> str:
        """The uid of the WebApp that has this name now, or ""."""
        return self._holders.get((namespace, name), "")

    def version(self, uid: str) -> str:
        """The resourceVersion last seen of an object of any kind, or ""."""
        found = (kind[uid].version for kind in self._kinds.values() if uid in kind)
        return next(found, "")

    def snapshot(self, uid: str) -> tuple[bytes | None, list[bytes]]:
        """WebApp and owned objects as JSON, each with its resourceVersion; (None, []) where one of them is not kept."""
        webapp = self.webapp(uid)
        if webapp is None:
            return None, []
        texts = [self._unpack(entry) for entry in (webapp, *self._owned.get(uid, ()))]
        whole = [text for text in texts if text is not None]
        return (whole[0], whole[1:]) if len(whole) == len(texts) else (None, [])

    def __len__(self) -> int:
        return sum(map(len, self._kinds.values()))

    def _index(self, entry: Entry) -> None:
        if entry.owner:
            self._owned[entry.owner] = (*self._owned.get(entry.owner, ()), entry)
        if entry.resource == self.primary:
            self._holders[entry.namespace, entry.name] = entry.uid

    def _unindex(self, entry: Entry) -> None:
        if entry.owner:
            rest = tuple(each for each in self._owned[entry.owner] if each is not entry)
            if rest:
                self._owned[entry.owner] = rest
            else:
                del self._owned[entry.owner]
        if entry.resource == self.primary and self.holder(entry.namespace, entry.name) == entry.uid:
            del self._holders[entry.namespace, entry.name]

    def _pack(self, new: Pruned) -> bytes | None:
        if new.text is None:
            return None
        dictionary = self._dictionaries.setdefault(new.resource, new.text)
        deflate = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zdict=dictionary)
        return deflate.compress(new.text) + deflate.flush()

    def _unpack(self, entry: Entry) -> bytes | None:
        if entry.packed is None:
            return None
        inflate = zlib.decompressobj(_WINDOW, zdict=self._dictionaries[entry.resource])
        return with_version(inflate.decompress(entry.packed), entry.version)
