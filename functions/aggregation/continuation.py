"""Pure: where a list goes on, as the opaque text that clients send back."""

from __future__ import annotations

import json
from base64 import urlsafe_b64decode, urlsafe_b64encode
from dataclasses import asdict, dataclass
from hashlib import sha256

from functions.aggregation.collection import Selection
from functions.aggregation.status import BadRequest
from functions.webapp.resources import Resource


@dataclass(frozen=True, slots=True)
class Position:
    """The version of a list's first page, and the collection's own mark of the next one."""

    at: int
    after: str

    def token(self, resource: Resource, selection: Selection) -> str:
        """The text, good for this selection only."""
        told = json.dumps([self.at, self.after, _digest(resource, selection)])
        return urlsafe_b64encode(told.encode()).decode().rstrip("=")

    @classmethod
    def of(cls, token: str, resource: Resource, selection: Selection) -> Position:
        """What a token says. Raises BadRequest for one that we did not give for this selection."""
        try:
            told = json.loads(urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except ValueError:
            told = None
        match told:
            case [int(at), str(after), str(digest)] if at > 0 and after:
                if digest != _digest(resource, selection):
                    raise BadRequest("continue: belongs to a list with other selectors or of another namespace")
                return cls(at, after)
            case _:
                raise BadRequest("continue: is no token of this server; list again without it")


def _digest(resource: Resource, selection: Selection) -> str:
    told = json.dumps([asdict(resource), asdict(selection)], sort_keys=True)
    return sha256(told.encode()).hexdigest()[:16]
