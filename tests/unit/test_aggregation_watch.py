"""Watches: every change once, whatever becomes of the collection, and one question for all of them."""

import json
import threading
from contextlib import ExitStack, contextmanager
from itertools import islice

import pytest

from functions.aggregation.feed import Feed
from functions.aggregation.forms import Renderer
from functions.aggregation.negotiation import PLAIN, TABLES
from functions.aggregation.query import WatchQuery
from functions.aggregation.status import Expired, TooLargeResourceVersion, Unavailable
from functions.aggregation.watch import Watch
from tests.aggregation.books import KIND
from tests.aggregation.shelf import Shelf
from tests.cluster.admin import until

TICK = 0.01
INITIAL = {"sendInitialEvents": "true", "resourceVersionMatch": "NotOlderThan", "allowWatchBookmarks": "true"}


@pytest.fixture
def shelf():
    return Shelf()


@contextmanager
def feeding(shelf, **more):
    """A feed that somebody watches, once it knows where the collection is."""
    feed = Feed(shelf, seconds=TICK, **more)
    with feed.watched():
        until(lambda: feed._head >= 0 or shelf.broken)
        yield feed


def watching(shelf, feed, form=PLAIN, over=lambda: False, seconds=20.0, **parameters):
    query = WatchQuery.of({key: str(value) for key, value in parameters.items()}, KIND, "")
    return parsed(Watch(shelf, feed, query, Renderer(KIND, form), seconds, over).lines())


def events(lines, count):
    """The first events, each as its type and what it is about."""
    return [told(event) for event in islice(lines, count)]


def parsed(pieces):
    lines = (line for piece in pieces for line in piece.splitlines(keepends=True))
    return (json.loads(line) for line in lines if line.endswith(b"\n"))


def told(event):
    meta = event["object"]["metadata"]
    return event["type"], meta.get("name") or meta.get("resourceVersion") or event["object"]["code"]


def test_a_watch_tells_every_change_after_its_version_once(shelf):
    shelf.add("dune")
    start = shelf.add("emma")
    with feeding(shelf) as feed:
        lines = watching(shelf, feed, resourceVersion=start)
        shelf.add("odes")
        assert events(lines, 1) == [("ADDED", "odes")]
        shelf.remove("dune")
        shelf.add("persuasion")
        assert events(lines, 2) == [("DELETED", "dune"), ("ADDED", "persuasion")]


def test_a_watch_without_version_begins_with_what_is_there(shelf):
    for name in ("dune", "emma"):
        shelf.add(name)
    with feeding(shelf) as feed:
        lines = watching(shelf, feed)
        assert events(lines, 2) == [("ADDED", "dune"), ("ADDED", "emma")]
        shelf.add("odes")
        assert events(lines, 1) == [("ADDED", "odes")]


def test_the_initial_events_end_with_an_annotated_bookmark(shelf):
    shelf.add("dune")
    with feeding(shelf) as feed:
        found = list(islice(watching(shelf, feed, **INITIAL), 2))
    assert [event["type"] for event in found] == ["ADDED", "BOOKMARK"]
    assert found[1]["object"]["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert found[1]["object"]["metadata"]["resourceVersion"] == "1"


def test_initial_events_come_in_batches_of_one_state(shelf):
    for number in range(1200):
        shelf.add(f"book-{number:04}")
    with feeding(shelf) as feed:
        lines = watching(shelf, feed, **INITIAL)
        first = events(lines, 1)
        shelf.add("book-0700-late")
        rest = events(lines, 1201)
    assert [name for _, name in first + rest[:-2]] == [f"book-{number:04}" for number in range(1200)]
    assert rest[-1] == ("ADDED", "book-0700-late")
    assert rest[-2] == ("BOOKMARK", "1200")


def test_without_initial_events_a_watch_begins_now(shelf):
    shelf.add("dune")
    with feeding(shelf) as feed:
        lines = watching(shelf, feed, **{**INITIAL, "sendInitialEvents": "false"})
        shelf.add("emma")
        assert events(lines, 1) == [("ADDED", "emma")]


def test_a_watch_from_before_the_ring_reads_the_collection(shelf):
    for number in range(50):
        shelf.add(f"book-{number:02}")
    with feeding(shelf, kept=5) as feed:
        for number in range(50, 100):
            shelf.add(f"book-{number:02}")
        until(lambda: feed._head == 100)
        assert len(feed._ring) == 5
        lines = watching(shelf, feed, resourceVersion=10)
        assert [name for _, name in events(lines, 90)] == [f"book-{number:02}" for number in range(10, 100)]


def test_a_slow_watch_misses_nothing_and_is_kept_no_memory_for(shelf):
    start = shelf.add("dune")
    with feeding(shelf, kept=5) as feed:
        lines = watching(shelf, feed, resourceVersion=start)
        shelf.add("emma")
        assert events(lines, 1) == [("ADDED", "emma")]
        for number in range(100):
            shelf.add(f"book-{number:03}")
        until(lambda: feed._head == 102)
        assert len(feed._ring) == 5
        assert [name for _, name in events(lines, 100)] == [f"book-{number:03}" for number in range(100)]


def test_a_version_that_is_no_longer_kept_ends_in_an_error_event(shelf):
    for number in range(20):
        shelf.add(f"book-{number:02}")
    shelf.forget(10)
    with feeding(shelf) as feed:
        (event,) = watching(shelf, feed, resourceVersion=5)
    assert (event["type"], event["object"]["kind"], event["object"]["code"]) == ("ERROR", "Status", 410)
    assert event["object"]["reason"] == "Expired"


def test_a_version_that_is_still_to_come_is_refused(shelf, monkeypatch):
    monkeypatch.setattr("functions.aggregation.watch._COMING_SECONDS", TICK)
    shelf.add("dune")
    with feeding(shelf) as feed:
        with pytest.raises(TooLargeResourceVersion, match="100 is still to come"):
            watching(shelf, feed, resourceVersion=100)
        with pytest.raises(TooLargeResourceVersion):
            watching(shelf, feed, **INITIAL, resourceVersion=100)


def test_a_watch_lives_through_an_outage_and_misses_nothing(shelf):
    start = shelf.add("dune")
    failures = []
    with feeding(shelf, failed=lambda: failures.append(1)) as feed:
        lines = watching(shelf, feed, resourceVersion=start)
        shelf.broken = True
        until(lambda: len(failures) > 2)
        shelf.add("emma")
        shelf.broken = False
        assert events(lines, 1) == [("ADDED", "emma")]


def test_a_watch_that_is_behind_waits_for_the_collection(shelf, monkeypatch):
    monkeypatch.setattr("functions.aggregation.watch.PATIENCE_SECONDS", TICK)
    for number in range(20):
        shelf.add(f"book-{number:02}")
    with feeding(shelf, kept=5) as feed:
        shelf.broken = True
        lines = watching(shelf, feed, resourceVersion=5)
        threading.Timer(0.1, setattr, (shelf, "broken", False)).start()
        assert events(lines, 1) == [("ADDED", "book-05")]


def test_initial_events_that_cannot_be_read_are_an_error_at_once(shelf):
    shelf.broken = True
    with feeding(shelf) as feed, pytest.raises(Unavailable):
        watching(shelf, feed)


def test_watches_of_a_storage_that_was_replaced_end_so_that_clients_list_again(shelf, monkeypatch):
    monkeypatch.setattr("functions.aggregation.watch.PATIENCE_SECONDS", TICK)
    for number in range(20):
        shelf.add(f"book-{number:02}")
    with feeding(shelf) as feed:
        lines = watching(shelf, feed, resourceVersion=20)
        shelf.horizon = 25  # the poller is told that its version is gone
        del shelf.log[5:]
        until(lambda: shelf.asked.count("version") > 1)
        shelf.horizon = 0
        (event,) = lines
    assert event["object"]["code"] == 410


def test_many_watches_ask_the_collection_as_often_as_one(shelf):
    start = shelf.add("dune")
    with feeding(shelf) as feed, ExitStack() as stack:
        watches = []
        for _ in range(20):
            stack.enter_context(feed.watched())
            watches.append(watching(shelf, feed, resourceVersion=start))
        names = [f"book-{number:02}" for number in range(30)]
        for name in names:
            shelf.add(name)
        until(lambda: feed._head == 31)
        feed._collection = None  # whatever they are told now they have from the feed
        for lines in watches:
            assert [name for _, name in events(lines, 30)] == names


def test_nothing_is_asked_while_nobody_watches(shelf):
    shelf.add("dune")
    with feeding(shelf) as feed:
        pass
    until(lambda: feed._thread is None)
    count = len(shelf.asked)
    shelf.add("emma")
    with feed.watched():
        until(lambda: feed._head == 2)
        assert not feed._ring  # what came meanwhile is not read for nobody
        lines = watching(shelf, feed, resourceVersion=1)
        assert events(lines, 1) == [("ADDED", "emma")]
    assert len(shelf.asked) > count


def test_a_watch_ends_in_time_with_the_newest_version(shelf):
    start = shelf.add("dune")
    with feeding(shelf) as feed:
        shelf.add("emma", genre="comedy")
        lines = watching(
            shelf, feed, seconds=0.2, resourceVersion=start, allowWatchBookmarks="true", labelSelector="genre=drama"
        )
        assert [told(event) for event in lines] == [("BOOKMARK", "2")]


def test_a_watch_ends_once_it_is_over(shelf):
    shelf.add("dune")
    with feeding(shelf) as feed:
        assert list(watching(shelf, feed, resourceVersion=1, over=lambda: True)) == []


def test_bookmarks_come_when_nothing_else_does(shelf, monkeypatch):
    monkeypatch.setattr("functions.aggregation.watch.BOOKMARK_SECONDS", 0.0)
    monkeypatch.setattr("functions.aggregation.watch.PATIENCE_SECONDS", TICK)
    shelf.add("dune")
    with feeding(shelf) as feed:
        lines = watching(shelf, feed, resourceVersion=1, allowWatchBookmarks="true")
        assert events(lines, 2) == [("BOOKMARK", "1"), ("BOOKMARK", "1")]


def test_selected_objects_are_seen_through_the_selector(shelf):
    start = shelf.add("dune")
    with feeding(shelf) as feed:
        lines = watching(shelf, feed, resourceVersion=start, labelSelector="genre=comedy")
        shelf.add("odes", genre="poem")
        shelf.add("emma", genre="comedy")
        assert events(lines, 1) == [("ADDED", "emma")]


def test_a_table_has_heads_in_its_first_event_only(shelf):
    start = shelf.add("dune")
    with feeding(shelf) as feed:
        lines = watching(shelf, feed, TABLES[0], resourceVersion=start)
        shelf.add("emma")
        shelf.add("odes")
        first, second = islice(lines, 2)
    assert [head["name"] for head in first["object"]["columnDefinitions"]] == ["Name", "Title", "Author"]
    assert second["object"]["columnDefinitions"] is None
    assert [row["cells"] for row in second["object"]["rows"]] == [["odes", "Odes", "Jane Austen"]]
    assert second["object"]["metadata"]["resourceVersion"] == "3"


def test_a_feed_whose_version_expired_starts_anew(shelf):
    shelf.add("dune")
    with feeding(shelf) as feed:
        shelf.broken = True
        until(lambda: shelf.asked.count("changes") > 2)
        for number in range(10):
            shelf.add(f"book-{number}")
        shelf.forget(8)
        shelf.broken = False
        until(lambda: feed._head == 11)
        with pytest.raises(Expired):
            feed.since(1, 0)
        assert [change.version for change in feed.since(9, 0).changes] == [10, 11]
