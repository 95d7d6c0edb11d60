"""Logs to standard error: one JSON object a line, or text for people. Bodies, headers and secrets are never logged."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from datetime import UTC, datetime


def configure(environ: Mapping[str, str]) -> None:
    """Set up the process's logs: `WEBAPP_LOG_LEVEL` (INFO), `WEBAPP_LOG_FORMAT` (json, or console)."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(ConsoleFormatter() if environ.get("WEBAPP_LOG_FORMAT") == "console" else JsonFormatter())
    logging.basicConfig(level=environ.get("WEBAPP_LOG_LEVEL", "INFO").upper(), handlers=[handler], force=True)


class JsonFormatter(logging.Formatter):
    """What `extra={"fields": {...}}` holds stands beside time, level and message."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one line of JSON."""
        line = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class ConsoleFormatter(logging.Formatter):
    """For people: time, message, `name=value`; the trace id comes last, so that it can be copied."""

    def format(self, record: logging.LogRecord) -> str:
        """The record as one readable line."""
        fields = dict(getattr(record, "fields", {}))
        trace = fields.pop("trace_id", None)
        told = " ".join(f"{name}={value}" for name, value in fields.items() if value not in {"", None})
        when = datetime.fromtimestamp(record.created).astimezone().strftime("%H:%M:%S.%f")[:-3]
        line = " ".join(
            filter(None, [when, record.levelname[0], record.getMessage(), told, trace and f"trace={trace}"])
        )
        return f"{line}\n{self.formatException(record.exc_info)}" if record.exc_info else line
