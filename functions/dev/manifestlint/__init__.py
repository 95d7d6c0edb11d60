"""Pure: what Knative's webhooks would say to a manifest, and what our parts need of each other, without a cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from functions.dev.manifestlint import chain, eventing, service

Manifest = Mapping[str, Any]


def complaints(manifests: Iterable[Manifest]) -> list[str]:
    """One line for each fault, `Kind name: field: what is wrong`; none for manifests that can be applied."""
    found = list(manifests)
    lines = [f"{_name(each)}: {fault}" for each in found for fault in (*service.faults(each), *eventing.faults(each))]
    return [*lines, *chain.faults(found)]


def _name(manifest: Manifest) -> str:
    return f"{manifest.get('kind')} {manifest.get('metadata', {}).get('name')}"
