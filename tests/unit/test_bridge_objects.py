"""What the bridge keeps of objects, and what counts as a change of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from event_bridge import mapping
from event_bridge.cache import Cache
from event_bridge.listing import Page
from event_bridge.mapping import Decision
from event_bridge.pruning import MAX_BYTES
from functions.webapp.contract import Cause, Change
from functions.webapp.resources import OWNED, Resource
from tests.bridge_parts import WEBAPP, owned, pruned, stored


@pytest.fixture
def cache() -> Cache:
    return Cache(WEBAPP, OWNED)


def see(cache: Cache, obj: dict[str, Any]) -> tuple[Decision, list[tuple[str, str, str]]]:
    """Decision and, per notice, kind, change and uid of the WebApp; then the cache knows the object."""
    new = pruned(obj)
    decision, notices = mapping.observed(new, cache, Cause.WATCH)
    if new.owner or new.resource == WEBAPP:
        cache.put(new)
    else:
        cache.drop(new.resource, new.uid)
    return decision, [(each.object.resource.kind, each.change.value, each.webapp.uid) for each in notices]


def end(cache: Cache, obj: dict[str, Any]) -> tuple[Decision, list[tuple[str, str, str]]]:
    new = pruned(obj)
    decision, notices = mapping.gone(mapping.reference(new), cache.get(new.resource, new.uid), cache, Cause.WATCH)
    cache.drop(new.resource, new.uid)
    return decision, [(each.object.resource.kind, each.change.value, each.webapp.uid) for each in notices]


def test_a_new_webapp_is_added_an_edited_one_modified_a_removed_one_deleted(cache: Cache) -> None:
    assert see(cache, stored(version=1)) == (Decision.QUEUED, [("WebApp", "added", "uid-a")])
    assert see(cache, stored(version=2, replicas=2)) == (Decision.QUEUED, [("WebApp", "modified", "uid-a")])
    assert end(cache, stored(version=3)) == (Decision.QUEUED, [("WebApp", "deleted", "uid-a")])
    assert len(cache) == 0


def test_status_and_managed_fields_of_a_webapp_are_no_news(cache: Cache) -> None:
    see(cache, stored(version=1))
    assert see(cache, stored(version=2, status={"replicas": 1})) == (Decision.STATUS, [])
    managed = stored(version=3, status={"replicas": 1})
    managed["metadata"]["managedFields"] = [{"manager": "kubectl"}]
    assert see(cache, managed) == (Decision.STATUS, [])
    assert json.loads(cache.snapshot("uid-a")[0] or b"")["status"] == {"replicas": 1}, "but the next snapshot has it"


@pytest.mark.parametrize("field", ["labels", "annotations", "generation", "deletionTimestamp", "ownerReferences"])
def test_every_kept_field_of_the_metadata_is_news(cache: Cache, field: str) -> None:
    see(cache, stored(version=1))
    edited = stored(version=2)
    edited["metadata"][field] = {"generation": 7, "deletionTimestamp": "2026-01-01T00:00:00Z"}.get(field, {"x": "y"})
    if field == "ownerReferences":
        edited["metadata"][field] = [{"uid": "x"}]
    assert see(cache, edited)[0] is Decision.QUEUED


def test_last_applied_is_neither_news_nor_kept(cache: Cache) -> None:
    see(cache, stored(version=1))
    edited = stored(version=2)
    edited["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": "{}"}
    see(cache, edited)
    edited["metadata"]["annotations"] = {"kubectl.kubernetes.io/last-applied-configuration": '{"a":1}'}
    edited["metadata"]["resourceVersion"] = "3"
    assert see(cache, edited)[0] is Decision.STATUS
    assert b"last-applied" not in (cache.snapshot("uid-a")[0] or b"last-applied")


def test_the_same_version_again_is_no_news(cache: Cache) -> None:
    see(cache, stored(version=1))
    assert see(cache, stored(version=1)) == (Decision.SAME_VERSION, [])


def test_a_childs_status_is_news_and_its_heartbeats_are_not(cache: Cache) -> None:
    def condition(status: str, time: str) -> dict[str, Any]:
        return {
            "conditions": [{"type": "Available", "status": status, "lastUpdateTime": time, "lastTransitionTime": time}]
        }

    see(cache, stored())
    see(cache, owned(version=2, status=condition("False", "1")))
    assert see(cache, owned(version=3, status=condition("False", "2"))) == (Decision.UNCHANGED, [])
    assert see(cache, owned(version=4, status=condition("True", "2")))[0] is Decision.QUEUED


def test_what_no_webapp_owns_is_neither_news_nor_kept(cache: Cache) -> None:
    assert see(cache, owned(owner="")) == (Decision.FOREIGN, [])
    assert end(cache, owned(owner="")) == (Decision.FOREIGN, [])
    assert len(cache) == 0


def test_an_owner_of_another_group_with_the_same_kind_is_not_ours(cache: Cache) -> None:
    child = owned()
    child["metadata"]["ownerReferences"][0]["apiVersion"] = "elsewhere.example.org/v1"
    see(cache, stored())
    assert see(cache, child) == (Decision.FOREIGN, [])


def test_a_child_of_an_unknown_webapp_is_kept_for_when_it_appears(cache: Cache) -> None:
    assert see(cache, owned()) == (Decision.ORPHAN, [])
    see(cache, stored(version=5))
    assert [json.loads(each)["kind"] for each in cache.snapshot("uid-a")[1]] == ["Deployment"]


def test_a_child_that_loses_its_owner_is_deleted_for_it(cache: Cache) -> None:
    see(cache, stored())
    see(cache, owned(version=2))
    assert see(cache, owned(version=3, owner="")) == (Decision.QUEUED, [("Deployment", "deleted", "uid-a")])
    assert cache.snapshot("uid-a")[1] == []


def test_a_child_that_changes_hands_is_news_for_both(cache: Cache) -> None:
    see(cache, stored("a"))
    see(cache, stored("b"))
    see(cache, owned("a", version=2))
    moved = owned("a", version=3, owner="uid-b")
    changes = [("Deployment", "deleted", "uid-a"), ("Deployment", "added", "uid-b")]
    assert see(cache, moved) == (Decision.QUEUED, changes)
    assert (len(cache.snapshot("uid-a")[1]), len(cache.snapshot("uid-b")[1])) == (0, 1)


def test_a_removed_child_of_a_webapp_that_is_gone_is_no_news(cache: Cache) -> None:
    see(cache, stored())
    see(cache, owned(version=2))
    end(cache, stored(version=3))
    assert end(cache, owned(version=4)) == (Decision.ORPHAN, [])


@pytest.mark.parametrize("owner", ["", "uid-of-the-one-before"])
def test_an_object_that_goes_out_of_the_way_of_a_webapp_of_its_name_is_news_for_it(cache: Cache, owner: str) -> None:
    see(cache, stored())
    see(cache, owned(version=2, owner=owner))
    assert end(cache, owned(version=3, owner=owner)) == (Decision.QUEUED, [("Deployment", "deleted", "uid-a")])


def test_a_removed_child_is_news_for_its_owner_whatever_its_name(cache: Cache) -> None:
    child = owned(version=2)
    child["metadata"]["name"] = "a-extra"
    see(cache, stored())
    see(cache, child)
    assert end(cache, child) == (Decision.QUEUED, [("Deployment", "deleted", "uid-a")])


def test_the_late_end_of_a_replaced_webapp_is_no_news(cache: Cache) -> None:
    see(cache, stored(version=1, uid="first"))
    see(cache, stored(version=3, uid="second"))
    assert end(cache, stored(version=2, uid="first")) == (Decision.REPLACED, [])
    assert cache.holder("team", "a") == "second"


def test_ids_are_the_same_whichever_way_a_change_is_seen(cache: Cache) -> None:
    watched = mapping.observed(pruned(stored(version=4)), cache, Cause.WATCH)[1][0]
    listed = mapping.observed(pruned(stored(version=4)), cache, Cause.RELIST)[1][0]
    assert watched.id == listed.id == "uid-a.4.added"


def test_a_sync_says_its_version_and_a_resync_its_tick_too(cache: Cache) -> None:
    cache.put(pruned(stored(version=4)))
    webapp = cache.webapp("uid-a")
    assert webapp is not None
    assert mapping.sync(webapp, Cause.SYNC).id == "uid-a.4.sync"
    assert mapping.sync(webapp, Cause.RESYNC, "17").id == "uid-a.4.sync.17"
    assert mapping.sync(webapp, Cause.SYNC).change is Change.SYNC


def test_snapshots_hold_whole_objects_at_their_newest_version(cache: Cache) -> None:
    for number in range(50):
        see(cache, stored(f"w{number}", version=number + 1, replicas=number))
        see(cache, owned(f"w{number}", version=number + 100))
    webapp, children = cache.snapshot("uid-w7")
    assert json.loads(webapp or b"") == stored("w7", version=8, replicas=7)
    assert [json.loads(each) for each in children] == [owned("w7", version=107)]


def test_a_huge_object_is_watched_but_leaves_no_snapshot(cache: Cache) -> None:
    huge = stored(version=1, env=[{"name": "X", "value": "x" * MAX_BYTES}])
    see(cache, huge)
    assert cache.snapshot("uid-a") == (None, [])
    huge["spec"]["env"][0]["value"] += "y"
    huge["metadata"]["resourceVersion"] = "2"
    assert see(cache, huge)[0] is Decision.QUEUED


def test_a_secrets_data_is_news_but_never_leaves_the_process() -> None:
    secret = Resource("", "v1", "Secret", "secrets")
    cache = Cache(WEBAPP, [secret])
    cache.put(pruned(stored()))
    first = owned(resource=secret, data={"key": "b25l"})
    second = owned(version=2, resource=secret, data={"key": "dHdv"})
    cache.put(pruned(first, secret))
    assert mapping.observed(pruned(second, secret), cache, Cause.WATCH)[0] is Decision.QUEUED
    assert b"b25l" not in cache.snapshot("uid-a")[1][0]


BODIES = [
    '{"kind":"L","apiVersion":"v1","metadata":{"resourceVersion":"7","continue":"x"},"items":[{"a":1},{"items":[2]}]}\n',
    '{"apiVersion":"v1","items":[{"a":1},{"items":[2]}],"kind":"L","metadata":{"continue":"x","resourceVersion":"7"}}',
    '{ "metadata": {"resourceVersion":"7","continue":"x"}, "items": [ {"a":1} , {"items":[2]} ] }',
    '{"metadata":{"resourceVersion":"7","continue":"x"},"items":[ {"a":1} , {"items":[2]} ]}',
]


@pytest.mark.parametrize("body", BODIES)
def test_a_page_is_read_object_by_object_however_it_is_written(body: str) -> None:
    page = Page(body.encode())
    assert list(page) == [{"a": 1}, {"items": [2]}]
    assert (page.version, page.token) == ("7", "x")


@pytest.mark.parametrize("items", ["[]", "null"])
def test_an_empty_page_is_the_last_one(items: str) -> None:
    page = Page(f'{{"metadata":{{"resourceVersion":"7"}},"items":{items}}}'.encode())
    assert (list(page), page.version, page.token) == ([], "7", "")
