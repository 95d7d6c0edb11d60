"""What an aggregated API says of itself and of its objects, in each of the negotiated forms."""

from datetime import UTC, datetime, timedelta

import pytest

from functions.aggregation import age, discovery, openapi
from functions.aggregation.collection import Page
from functions.aggregation.documents import documents
from functions.aggregation.forms import Renderer
from functions.aggregation.kind import AGE, NAME, Kind
from functions.aggregation.negotiation import (
    GROUP_LISTS,
    METADATA,
    METADATA_LISTS,
    OF_GROUPS,
    OF_MANY,
    OF_ONE,
    PLAIN,
    TABLES,
    choose,
)
from functions.aggregation.status import NotAcceptable
from functions.aggregation.table import Include
from functions.webapp.resources import Resource
from tests.aggregation.books import BOOKS, KIND

NOW = datetime(2026, 1, 31, 9, 30, tzinfo=UTC)
KUBECTL = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)
AGGREGATOR = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList"
)
EMMA = {
    "apiVersion": BOOKS.api_version,
    "kind": "Book",
    "metadata": {"namespace": "novels", "name": "emma", "resourceVersion": "7", "labels": {"genre": "comedy"}},
    "spec": {"title": "Emma", "author": "Jane Austen"},
}


@pytest.mark.parametrize(
    ("accept", "offered", "form"),
    [
        ("", OF_ONE, PLAIN),
        ("*/*", OF_ONE, PLAIN),
        ("application/json, */*", OF_MANY, PLAIN),
        (KUBECTL, OF_MANY, TABLES[0]),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io", OF_MANY, TABLES[1]),
        ("application/json;as=Table;v=v2;g=meta.k8s.io,application/json", OF_MANY, PLAIN),
        ("application/json;q=0.5,application/json;as=Table;v=v1;g=meta.k8s.io;q=0.9", OF_MANY, TABLES[0]),
        ("application/json;q=0,application/json;as=Table;v=v1;g=meta.k8s.io", OF_MANY, TABLES[0]),
        ("application/vnd.kubernetes.protobuf,application/json", OF_MANY, PLAIN),
        ("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1", OF_ONE, METADATA[0]),
        ("application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1", OF_MANY, METADATA_LISTS[0]),
        (AGGREGATOR, OF_GROUPS, GROUP_LISTS[0]),
        ("application/json;charset=utf-8", OF_MANY, PLAIN),
    ],
)
def test_the_first_acceptable_form_is_chosen(accept, offered, form):
    assert choose(accept, offered) == form


@pytest.mark.parametrize(
    "accept",
    [
        "application/yaml",
        "application/vnd.kubernetes.protobuf",
        "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
        "application/json;q=0",
        "application/json;q=high",
    ],
)
def test_a_list_in_no_acceptable_form_is_406(accept):
    with pytest.raises(NotAcceptable, match="served are application/json"):
        choose(accept, OF_MANY)


def test_a_table_has_heads_cells_and_the_metadata_that_kubectl_needs():
    table = Renderer(KIND, TABLES[0]).many(Page([EMMA], 9, "x", 3), "token", NOW)
    assert (table["kind"], table["apiVersion"]) == ("Table", "meta.k8s.io/v1")
    assert table["metadata"] == {"resourceVersion": "9", "continue": "token", "remainingItemCount": 3}
    assert [(head["name"], head["priority"]) for head in table["columnDefinitions"]] == [
        ("Name", 0),
        ("Title", 0),
        ("Author", 0),
    ]
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": EMMA["metadata"]}
    assert table["rows"] == [{"cells": ["emma", "Emma", "Jane Austen"], "object": partial}]


def test_the_rows_of_a_table_carry_what_is_asked_for():
    rows = {include: Renderer(KIND, TABLES[1], include).one(EMMA, NOW)["rows"][0]["object"] for include in Include}
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1beta1", "metadata": EMMA["metadata"]}
    assert rows == {Include.NONE: None, Include.METADATA: partial, Include.OBJECT: EMMA}


def test_lists_and_objects_in_the_other_forms():
    assert Renderer(KIND, PLAIN).one(EMMA, NOW) is EMMA
    listed = Renderer(KIND, PLAIN).many(Page([EMMA], 9), "", NOW)
    assert listed == {
        "kind": "BookList",
        "apiVersion": "library.example.com/v1",
        "metadata": {"resourceVersion": "9"},
        "items": [EMMA],
    }
    partial = {"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": EMMA["metadata"]}
    assert Renderer(KIND, METADATA[0]).one(EMMA, NOW) == partial
    many = Renderer(KIND, METADATA_LISTS[0]).many(Page([EMMA], 9), "", NOW)
    assert (many["kind"], many["items"]) == ("PartialObjectMetadataList", [partial])


def test_the_bookmark_that_ends_the_initial_events_says_so():
    plain = Renderer(KIND, PLAIN).bookmark(9, initial_end=True)
    assert (plain["kind"], plain["metadata"]["resourceVersion"]) == ("Book", "9")
    assert plain["metadata"]["annotations"] == {"k8s.io/initial-events-end": "true"}
    assert "annotations" not in Renderer(KIND, PLAIN).bookmark(9)["metadata"]
    assert Renderer(KIND, METADATA[0]).bookmark(9)["kind"] == "PartialObjectMetadata"
    assert Renderer(KIND, TABLES[0]).bookmark(9)["rows"] == []


def test_discovery_names_group_version_and_kind_everywhere():
    told = discovery.resource_list([KIND], BOOKS.group, "v1")["resources"]
    assert told == [
        {
            "name": "books",
            "singularName": "book",
            "namespaced": True,
            "group": "library.example.com",
            "version": "v1",
            "kind": "Book",
            "verbs": ["get", "list", "watch"],
            "shortNames": ["bk"],
            "categories": [],
        }
    ]
    (group,) = discovery.group_discovery([KIND], GROUP_LISTS[0])["items"]
    (version,) = group["versions"]
    assert (group["metadata"]["name"], version["version"], version["freshness"]) == (BOOKS.group, "v1", "Current")
    (resource,) = version["resources"]
    assert resource["responseKind"] == {"group": "library.example.com", "version": "v1", "kind": "Book"}
    assert (resource["scope"], resource["singularResource"]) == ("Namespaced", "book")


def test_groups_and_versions_come_in_the_order_of_the_kinds():
    def kind(group, version, plural):
        return Kind(Resource(group, version, plural.title(), plural), plural, "", (NAME, AGE), {})

    kinds = [
        kind("b.example.com", "v2", "cups"),
        kind("a.example.com", "v1", "mugs"),
        kind("b.example.com", "v1", "cups"),
    ]
    assert discovery.versions(kinds) == {"b.example.com": ["v2", "v1"], "a.example.com": ["v1"]}
    assert discovery.group(kinds, "b.example.com")["preferredVersion"]["version"] == "v2"
    assert [each["name"] for each in discovery.group_list(kinds)["groups"]] == ["b.example.com", "a.example.com"]
    assert {path for path in documents(kinds) if path.startswith("/openapi")} == {
        "/openapi/v3",
        "/openapi/v3/apis/b.example.com/v2",
        "/openapi/v3/apis/b.example.com/v1",
        "/openapi/v3/apis/a.example.com/v1",
    }


def test_openapi_has_what_explain_looks_for():
    document = openapi.document([KIND])
    gvk = {"group": "library.example.com", "version": "v1", "kind": "Book"}
    operation = document["paths"]["/apis/library.example.com/v1/namespaces/{namespace}/books"]["get"]
    assert operation["x-kubernetes-group-version-kind"] == gvk
    schema = document["components"]["schemas"]["com.example.library.v1.Book"]
    assert schema["x-kubernetes-group-version-kind"] == [gvk]
    assert schema["properties"]["spec"]["properties"]["author"]["description"] == "Who wrote it, the family name last."


def test_a_changed_document_has_another_digest_in_the_root():
    def digest(description):
        kind = Kind(BOOKS, "book", description, KIND.columns, KIND.properties)
        return documents([kind])["/openapi/v3"][PLAIN].body

    assert digest("A book.") == digest("A book.")
    assert digest("A book.") != digest("A tome.")


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (-5, "<invalid>"),
        (-1, "0s"),
        (0, "0s"),
        (119, "119s"),
        (120, "2m"),
        (150, "2m30s"),
        (599, "9m59s"),
        (600, "10m"),
        (10799, "179m"),
        (10800, "3h"),
        (11100, "3h5m"),
        (28800, "8h"),
        (172799, "47h"),
        (172800, "2d"),
        (190800, "2d5h"),
        (691200, "8d"),
        (63071999, "729d"),
        (63072000, "2y"),
        (64800000, "2y20d"),
        (400000000, "12y"),
    ],
)
def test_ages_are_told_with_two_units_at_most(seconds, shown):
    assert age.short(timedelta(seconds=seconds)) == shown


def test_an_age_needs_a_timestamp():
    assert age.since("2026-01-31T09:28:30.25Z", NOW) == "89s"
    for nothing in (None, "yesterday", "2026-01-31T09:28:30"):
        assert age.since(nothing, NOW) == "<unknown>"
