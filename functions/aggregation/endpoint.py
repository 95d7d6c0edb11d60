"""The three verbs of one kind, from a request's parameters to its answer."""

from __future__ import annotations

import json
import random
import select
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from flask import Response

from functions.aggregation import query
from functions.aggregation.collection import Collection
from functions.aggregation.continuation import Position
from functions.aggregation.feed import Feed
from functions.aggregation.figures import Figures
from functions.aggregation.forms import Renderer
from functions.aggregation.kind import Kind
from functions.aggregation.negotiation import OF_MANY, OF_ONE, choose
from functions.aggregation.status import JSON, TooManyRequests, missing
from functions.aggregation.watch import Watch, too_large
from functions.runtime.worker import DRAINING

_WATCH_SECONDS = (1800, 3600)
"""How long a watch lasts whose client does not say, as kube-apiserver's `--min-request-timeout` has it."""


@dataclass(frozen=True)
class Request:
    """What the three verbs need to know of a request."""

    namespace: str
    parameters: Mapping[str, str]
    accept: str
    environ: Mapping[str, Any]


class Endpoint:
    """Serves a kind from its collection; `slots` are the watches that may run at once in this process."""

    def __init__(self, kind: Kind, collection: Collection, slots: threading.Semaphore, figures: Figures) -> None:
        self.kind = kind
        self.feed = Feed(collection, figures.poll_errors.inc)
        self._collection = collection
        self._slots = slots
        self._figures = figures

    def get(self, request: Request, name: str) -> Response:
        """One object; raises NotFound."""
        renderer = self._renderer(request, "get")
        obj = self._collection.get(request.namespace, name)
        if obj is None:
            raise missing(self.kind.resource, name)
        return _answer(renderer.one(obj, datetime.now(UTC)))

    def list(self, request: Request) -> Response:
        """A page of the selected objects."""
        renderer = self._renderer(request, "list")
        asked = query.ListQuery.of(request.parameters, self.kind, request.namespace)
        page = self._collection.list(asked.selection, asked.limit, asked.at, asked.after)
        if page.version < asked.least:
            raise too_large(asked.least)
        position = Position(page.version, page.more)
        token = position.token(self.kind.resource, asked.selection) if page.more else ""
        return _answer(renderer.many(page, token, datetime.now(UTC)))

    def watch(self, request: Request) -> Response:
        """Changes without end; raises TooManyRequests when all slots are taken."""
        renderer = self._renderer(request, "watch")
        asked = query.WatchQuery.of(request.parameters, self.kind, request.namespace)
        with ExitStack() as stack:
            if not self._slots.acquire(blocking=False):
                raise TooManyRequests("as many watches run here as are allowed; another replica may have room")
            stack.callback(self._slots.release)
            stack.enter_context(self._figures.watches.track_inprogress())
            stack.enter_context(self.feed.watched())
            seconds = asked.seconds or random.uniform(*_WATCH_SECONDS)  # noqa: S311 - spreads load, guards nothing
            watch = Watch(self._collection, self.feed, asked, renderer, seconds, _over(request.environ))
            answer = Response(watch.lines(), content_type=JSON)
            answer.call_on_close(stack.pop_all().close)
        return answer

    def _renderer(self, request: Request, verb: str) -> Renderer:
        form = choose(request.accept, OF_MANY if verb == "list" else OF_ONE)
        return Renderer(self.kind, form, query.include(request.parameters))


def _answer(value: Any) -> Response:
    return Response(json.dumps(value, separators=(",", ":"), ensure_ascii=False), content_type=JSON)


def _over(environ: Mapping[str, Any]) -> Callable[[], bool]:
    """Whether the server drains, or the client is gone: it has nothing to say during a watch but its farewell."""
    draining = environ.get(DRAINING)
    socket = environ.get("gunicorn.socket")
    poll = select.poll()
    if socket is not None:
        poll.register(socket, select.POLLIN | select.POLLHUP | select.POLLERR)

    def over() -> bool:
        return (draining is not None and draining.is_set()) or bool(socket is not None and poll.poll(0))

    return over
