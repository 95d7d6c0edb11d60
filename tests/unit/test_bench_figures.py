"""What the bench makes of its measurements, and how it writes them down."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bench import figures, page
from tests.bench.sink import Post
from tests.bench.tables import Table

TABLE = Table("times", "Time", ("operator", "create"), (("ours", "1 s"), ("a twin", "2 s")))


def request(verb: str, resource: str = "webapps") -> dict[str, object]:
    return {"verb": verb, "objectRef": {"resource": resource}}


def test_quantiles_are_values_that_were_measured() -> None:
    found = figures.latency(seconds / 1000 for seconds in range(1, 101))
    assert (found.count, found.p50, found.p99, found.most) == (100, 50.0, 99.0, 100.0)


def test_nothing_measured_gives_zeros() -> None:
    assert figures.latency([]).count == 0


def test_requests_are_counted_per_webapp_without_watches_lists_and_lease_heartbeats() -> None:
    requests = [request("create")] * 6 + [request("update")] * 2 + [request("watch"), request("list")]
    requests += [request("update", "leases")] * 5
    assert figures.per_webapp(requests, 2) == {"create": 3.0, "update": 1.0}


def test_reads_and_heartbeats_are_no_writes() -> None:
    assert figures.writes([request("get"), request("update", "leases"), request("patch")]) == 1


def test_a_later_state_of_the_same_webapp_covers_a_change() -> None:
    post = Post(when=5.0, name="app-00001", number=7, answer=202, id="x", size=1)
    assert post.covers("app-00001", 7, sent=6.0)
    assert post.covers("app-00001", 6, sent=1.0)
    assert not post.covers("app-00001", 8, sent=1.0)
    assert not post.covers("app-00002", 7, sent=1.0)


def test_a_refused_event_covers_nothing() -> None:
    assert not Post(5.0, "app-00001", 7, 503, "x", 1).covers("app-00001", 7, sent=1.0)


def test_an_event_without_the_object_covers_what_was_sent_before_it() -> None:
    post = Post(5.0, "app-00001", None, 202, "x", 1)
    assert post.covers("app-00001", 7, sent=4.0)
    assert not post.covers("app-00001", 7, sent=5.5)


def test_the_page_keeps_its_text_and_takes_new_tables(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("before\n<!-- bench:times -->\nold\n<!-- bench:end -->\nafter\n")
    page.rewrite(path, [TABLE], "quiet machine")
    page.rewrite(path, [TABLE], "quiet machine")
    assert path.read_text() == (
        "before\n<!-- bench:times -->\n\n"
        "| operator | create |\n|----------|--------|\n| ours     | 1 s    |\n| a twin   | 2 s    |\n\n"
        "quiet machine\n\n<!-- bench:end -->\nafter\n"
    )


def test_a_page_without_the_tables_place_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "page.md"
    path.write_text("nothing here\n")
    with pytest.raises(ValueError, match="0 places marked <!-- bench:times -->"):
        page.rewrite(path, [TABLE], "")


def test_the_shipped_page_has_a_place_for_every_table() -> None:
    text = page.PAGE.read_text()
    for key in ("times", "costs", "memory", "ratios", "alone", "faults", "rate"):
        assert text.count(f"<!-- bench:{key} -->") == 1
