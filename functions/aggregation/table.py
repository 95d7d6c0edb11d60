"""Pure: objects as the rows that kubectl prints (meta.k8s.io Table)."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import Any

from functions.aggregation.collection import Object
from functions.aggregation.kind import Column, Kind


class Include(StrEnum):
    """What a row carries of its object; kubectl sorts and filters by it."""

    NONE = "None"
    METADATA = "Metadata"
    OBJECT = "Object"


def definitions(columns: Iterable[Column]) -> list[dict[str, Any]]:
    """The columns' heads."""
    return [
        {
            "name": column.name,
            "type": column.type,
            "format": column.format,
            "description": column.description,
            "priority": column.priority,
        }
        for column in columns
    ]


def rows(kind: Kind, objects: Iterable[Object], now: datetime, include: Include, meta: str) -> list[dict[str, Any]]:
    """One row for each object; `meta` is the apiVersion of the metadata in it."""
    return [
        {"cells": [column.cell(obj, now) for column in kind.columns], "object": _carried(obj, include, meta)}
        for obj in objects
    ]


def metadata(obj: Object, api_version: str) -> Object:
    """The PartialObjectMetadata of an object."""
    return {"kind": "PartialObjectMetadata", "apiVersion": api_version, "metadata": obj["metadata"]}


def _carried(obj: Object, include: Include, meta: str) -> Object | None:
    match include:
        case Include.OBJECT:
            return obj
        case Include.METADATA:
            return metadata(obj, meta)
        case Include.NONE:
            return None
