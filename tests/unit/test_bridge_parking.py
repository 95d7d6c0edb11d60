"""The parking file: structured CloudEvents, one a line, bounded."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime
from pathlib import Path

from event_bridge.parking import Parking
from functions.webapp import contract, envelope
from tests.bridge_parts import POISON, change

NOW = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


def park(parking: Parking, version: int, padding: int = 0) -> None:
    notice = change(version=version).notice
    attributes = contract.attributes(notice, group="platform.example.com", cluster="c", time=NOW)
    webapp = json.dumps({"x": "x" * padding}).encode()
    parking.add(attributes, contract.data(notice, webapp, []), POISON)


def test_a_parked_event_can_be_read_back_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "parked.jsonl"
    park(Parking(file, 1 << 20, "http://sink/"), 7)
    event = envelope.from_json(json.loads(file.read_text()))
    assert event.get_id() == "a-1.7.modified"
    assert event.get_extension("knativeerrordest") == "http://sink/"
    assert event.get_extension("knativeerrorcode") == 422
    assert base64.b64decode(event.get_extension("knativeerrordata")) == b""
    assert contract.payload(event)["snapshot"] == {"webapp": {"x": ""}, "owned": []}


def test_the_file_stays_within_its_bound_and_keeps_the_newest(tmp_path: Path) -> None:
    file, limit = tmp_path / "parked.jsonl", 20_000
    parking = Parking(file, limit, "http://sink/")
    for version in range(100):
        park(parking, version, padding=1000)
        assert file.stat().st_size <= limit
    ids = [json.loads(line)["id"] for line in file.read_text().splitlines()]
    assert ids[-1] == "a-1.99.modified"
    assert ids == [f"a-1.{version}.modified" for version in range(100 - len(ids), 100)]


def test_a_file_that_cannot_be_written_is_told_and_breaks_nothing(tmp_path: Path, caplog: object) -> None:
    park(Parking(tmp_path / "missing" / "parked.jsonl", 1 << 20, "http://sink/"), 7)
    assert "the parking file cannot be written" in getattr(caplog, "text", "")
