"""Pure: objects, lists and watch events in the form that was negotiated."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from functions.aggregation import table
from functions.aggregation.collection import Object, Page
from functions.aggregation.kind import Kind
from functions.aggregation.negotiation import PLAIN, Form
from functions.aggregation.table import Include

INITIAL_EVENTS_END = "k8s.io/initial-events-end"
"""The annotation of the bookmark after which a watch list is complete (KEP-3157)."""


@dataclass(frozen=True, slots=True)
class Renderer:
    """Writes objects of a kind."""

    kind: Kind
    form: Form
    include: Include = Include.METADATA

    def one(self, obj: Object, now: datetime, *, heads: bool = True) -> Object:
        """An object of its own, as GET and watch events carry it; a table needs its heads only once."""
        if self.form == PLAIN:
            return obj
        if self.form.kind == "Table":
            meta = {"resourceVersion": obj["metadata"]["resourceVersion"]}
            return self._table([obj], meta, now, heads=heads)
        return table.metadata(obj, self.form.api_version)

    def many(self, page: Page, token: str, now: datetime) -> Object:
        """A list; `token` continues it."""
        told = {"resourceVersion": str(page.version), "continue": token, "remainingItemCount": page.remaining}
        meta = {key: value for key, value in told.items() if value}
        if self.form.kind == "Table":
            return self._table(page.objects, meta, now)
        if self.form == PLAIN:
            resource, items = self.kind.resource, page.objects
            return _list(f"{resource.kind}List", resource.api_version, meta, items)
        version = self.form.api_version
        return _list(self.form.kind, version, meta, [table.metadata(obj, version) for obj in page.objects])

    def bookmark(self, version: int, *, initial_end: bool = False) -> Object:
        """An object of nothing but a version: all before it has been told."""
        meta: dict[str, Any] = {"resourceVersion": str(version), "creationTimestamp": None}
        if initial_end:
            meta["annotations"] = {INITIAL_EVENTS_END: "true"}
        if self.form.kind == "Table":
            return {"kind": "Table", "apiVersion": self.form.api_version, "metadata": meta, "rows": []}
        resource = self.kind.resource
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": meta}
        return obj if self.form == PLAIN else table.metadata(obj, self.form.api_version)

    def _table(self, objects: list[Object], meta: dict[str, Any], now: datetime, *, heads: bool = True) -> Object:
        return {
            "kind": "Table",
            "apiVersion": self.form.api_version,
            "metadata": meta,
            "columnDefinitions": table.definitions(self.kind.columns) if heads else None,
            "rows": table.rows(self.kind, objects, now, self.include, self.form.api_version),
        }


def _list(kind: str, api_version: str, meta: dict[str, Any], items: list[Object]) -> Object:
    return {"kind": kind, "apiVersion": api_version, "metadata": meta, "items": items}
