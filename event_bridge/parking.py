"""Events that the sink will never take: a file with one structured CloudEvent a line, and Knative's dead-letter words.

The file is for people and tools (`webapp replay` reads it); the bridge itself keeps the notice in memory.
"""

from __future__ import annotations

import json
import logging
import threading
from base64 import b64encode
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cloudevents.core.v1.event import CloudEvent

from event_bridge.answer import Answer
from functions.webapp import envelope

_log = logging.getLogger("event_bridge")


class Parking:
    """An append-only file of at most `limit` bytes; when it is full, its older half goes."""

    def __init__(self, path: Path, limit: int, destination: str) -> None:
        self._path, self._limit, self._destination = path, limit, destination
        self._turn = threading.Lock()

    def add(self, attributes: Mapping[str, Any], body: bytes, answer: Answer) -> None:
        """Write one event down and say so; a file that cannot be written is an error in the log, nothing more."""
        event = {
            **attributes,
            "knativeerrordest": self._destination,
            "knativeerrorcode": answer.status,
            "knativeerrordata": b64encode(answer.text.encode()).decode(),
        }
        line = json.dumps(envelope.to_json(CloudEvent(event, json.loads(body))), separators=(",", ":")).encode() + b"\n"
        fields = {"event_id": attributes["id"], "webapp": attributes["partitionkey"], "status": answer.status}
        told = "parked: the sink will never take this event; it is tried again when the WebApp changes"
        _log.error(told, extra={"fields": {**fields, "answer": answer.text[:200], "file": str(self._path)}})
        try:
            with self._turn:
                self._append(line)
        except OSError as error:
            _log.error("the parking file cannot be written", extra={"fields": {**fields, "error": str(error)}})

    def _append(self, line: bytes) -> None:
        size = self._path.stat().st_size if self._path.exists() else 0
        if size + len(line) > self._limit:
            self._shorten()
        with self._path.open("ab") as file:
            file.write(line)

    def _shorten(self) -> None:
        """Keep the newest lines that fill half of the limit; whoever reads sees the old file or the new one."""
        kept, size = list[bytes](), 0
        for line in reversed(self._path.read_bytes().splitlines(keepends=True)):
            size += len(line)
            if size > self._limit // 2:
                break
            kept.append(line)
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(b"".join(reversed(kept)))
        fresh.replace(self._path)
