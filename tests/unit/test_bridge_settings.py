"""The environment of the bridge: defaults, and errors that name variable, value and cure."""

from __future__ import annotations

from pathlib import Path

import pytest

from event_bridge.settings import load
from functions.runtime.settings import SettingsError
from functions.webapp.resources import OWNED, Resource


def test_the_defaults_watch_webapps_and_their_children_everywhere() -> None:
    found = load({})
    assert [kind.kind for kind in found.kinds] == ["WebApp", "Deployment", "Service", "Ingress"]
    assert (found.primary.group, found.owned, found.namespaces, found.sink) == ("platform.example.com", OWNED, (), None)
    assert found.lease is not None
    assert (found.lease.namespace, found.lease.name) == ("webapp-system", "webapp-bridge")


def test_kinds_group_and_namespaces_are_configuration() -> None:
    found = load(
        {
            "WEBAPP_API_GROUP": "mycompany.com",
            "BRIDGE_PRIMARY": "sites.v2.mycompany.com/Site",
            "BRIDGE_OWNED": "configmaps.v1/ConfigMap, statefulsets.v1.apps/StatefulSet",
            "WEBAPP_NAMESPACES": "a, b,,a",
            "BRIDGE_LEASE": "false",
        }
    )
    assert found.primary == Resource("mycompany.com", "v2", "Site", "sites")
    assert [kind.path("") for kind in found.owned] == ["/api/v1/configmaps", "/apis/apps/v1/statefulsets"]
    assert (found.namespaces, found.lease) == (("a", "b"), None)


def test_a_history_has_bounds_and_a_token_of_its_own() -> None:
    sink = {"BRIDGE_HISTORY_SINK": "https://recorder", "BRIDGE_OIDC_TOKEN": "/token", "K_CA_CERTS": "PEM"}
    found = load(sink).history
    assert found is not None
    assert (found.destination.url, found.destination.token, found.destination.ca_certs) == (
        *("https://recorder", None, "PEM"),
    )
    assert (found.most_events, found.most_bytes) == (5000, 8 << 20)
    own = load({**sink, "BRIDGE_HISTORY_TOKEN": "/own", "BRIDGE_HISTORY_EVENTS": "9"}).history
    assert own is not None
    assert (own.destination.token, own.most_events) == (Path("/own"), 9)
    assert load({"BRIDGE_HISTORY_EVENTS": "9"}).history is None
    with pytest.raises(SettingsError, match="BRIDGE_HISTORY_EVENTS"):
        load({**sink, "BRIDGE_HISTORY_EVENTS": "0"})


def test_overrides_become_header_values() -> None:
    assert load({"K_CE_OVERRIDES": '{"extensions":{"team":"größe 1"}}'}).extensions == {"team": "gr%C3%B6%C3%9Fe%201"}


@pytest.mark.parametrize("text", ["", "{}", '{"extensions":{}}', '{"extensions":null}'])
def test_overrides_may_be_empty(text: str) -> None:
    assert load({"K_CE_OVERRIDES": text}).extensions == {}


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("K_CE_OVERRIDES", "{", "is not JSON"),
        ("K_CE_OVERRIDES", "[]", "wrong shape"),
        ("K_CE_OVERRIDES", '{"extensions":{"id":"1"}}', "extensions.id cannot be overridden"),
        ("K_CE_OVERRIDES", '{"extensions":{"Team":"1"}}', "Team"),
        ("K_CE_OVERRIDES", '{"extensions":{"team":1}}', "must be a text"),
        ("K_SINK", "webapp-reconciler", "http or https URL"),
        ("BRIDGE_PRIMARY", "sites", "RESOURCE.VERSION.GROUP/Kind"),
        ("BRIDGE_PRIMARY", "sites.v1.elsewhere.org/Site", "WEBAPP_API_GROUP"),
        ("BRIDGE_OWNED", "services.v1/Service,x", "RESOURCE.VERSION.GROUP/Kind"),
        ("BRIDGE_CONCURRENCY", "0", "whole number"),
        ("BRIDGE_IDLE_SECONDS", "nan", "seconds"),
        ("BRIDGE_LEASE", "maybe", "true or false"),
        ("BRIDGE_HEALTH_PORT", "70000", "whole number"),
        ("BRIDGE_HISTORY_SINK", "webapp-history-recorder", "http or https URL"),
    ],
)
def test_what_cannot_be_meant_is_refused_by_name(name: str, value: str, told: str) -> None:
    with pytest.raises(SettingsError, match=name) as error:
        load({name: value})
    assert told in str(error.value)
