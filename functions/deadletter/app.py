"""A CloudEvents sink that writes each event as one line of JSON, in the form in which `webapp replay` reads events.

A broker adds `knativeerrordest`, `knativeerrorcode` and `knativeerrordata`; they stay in the line.
"""

from __future__ import annotations

import threading
from typing import BinaryIO

from flask import Flask, Response, request

from functions.runtime import web
from functions.webapp import envelope
from functions.webapp.errors import WebAppError


def create_app(lines: BinaryIO) -> Flask:
    """The WSGI app; `lines` is flushed before an event counts as taken."""
    app = web.skeleton(__name__, body_limit=2 * envelope.MAX_BYTES)
    lock = threading.Lock()

    @app.post("/")
    def receive() -> Response:
        try:
            event = envelope.decode(list(request.headers.items()), request.get_data(cache=False))
            _, line = envelope.encode_structured(event)
        except WebAppError as error:
            return web.refusal(error)
        with lock:
            lines.write(line + b"\n")
            lines.flush()
        return Response(status=204)

    return app
