"""Pure: which form of an answer a caller prefers (RFC 9110 section 12.5.1, Kubernetes' `as`, `g` and `v`)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from functions.aggregation.status import JSON, NotAcceptable

META_GROUP = "meta.k8s.io"
DISCOVERY_GROUP = "apidiscovery.k8s.io"
_ANY = frozenset({"*/*", "application/*", JSON})


@dataclass(frozen=True, slots=True)
class Form:
    """JSON as a kind of its own, such as Table of meta.k8s.io/v1; with no kind it is the resource's."""

    kind: str = ""
    group: str = ""
    version: str = ""

    @property
    def api_version(self) -> str:
        """What stands in the answer's `apiVersion`."""
        return f"{self.group}/{self.version}"

    @property
    def media_type(self) -> str:
        """The Content-Type that names it in full."""
        return f"{JSON};g={self.group};v={self.version};as={self.kind}" if self.kind else JSON


PLAIN = Form()
TABLES = tuple(Form("Table", META_GROUP, version) for version in ("v1", "v1beta1"))
METADATA = tuple(Form("PartialObjectMetadata", META_GROUP, version) for version in ("v1", "v1beta1"))
METADATA_LISTS = tuple(Form("PartialObjectMetadataList", META_GROUP, version) for version in ("v1", "v1beta1"))
GROUP_LISTS = tuple(Form("APIGroupDiscoveryList", DISCOVERY_GROUP, version) for version in ("v2", "v2beta1"))
OF_ONE = frozenset({PLAIN, *TABLES, *METADATA})
OF_MANY = frozenset({PLAIN, *TABLES, *METADATA_LISTS})
OF_GROUPS = frozenset({PLAIN, *GROUP_LISTS})


def choose(accept: str, offered: Iterable[Form]) -> Form:
    """The form that comes first in an `Accept` field and is offered. Raises NotAcceptable."""
    known = frozenset(offered)
    for name, parameters in _ranges(accept or JSON):
        form = Form(parameters.get("as", ""), parameters.get("g", ""), parameters.get("v", ""))
        found = form if form.kind else PLAIN
        if name in _ANY and found in known:
            return found
    told = ", ".join(sorted(form.media_type for form in known))
    raise NotAcceptable(f"Accept: none of the forms in {accept[:200]!r} is served; served are {told}")


def _ranges(accept: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Media ranges and their parameters, the preferred ones first."""
    found = []
    for part in accept.split(","):
        name, *pairs = (piece.strip() for piece in part.split(";"))
        parameters = dict(pair.split("=", 1) for pair in pairs if "=" in pair)
        quality = _quality(parameters.pop("q", "1"))
        if quality:
            found.append((-quality, name.lower(), parameters))
    for _, name, parameters in sorted(found, key=lambda each: each[0]):
        yield name, parameters


def _quality(text: str) -> float:
    try:
        return min(1.0, max(0.0, float(text)))
    except ValueError:
        return 0.0
