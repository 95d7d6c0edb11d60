"""The overlay, with the `jsonpatch` library as oracle of what its operations do."""

from __future__ import annotations

import string
from contextlib import suppress
from copy import deepcopy
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from functions.webapp import desired, model
from functions.webapp.overlay import Keyed, Quantity, Whole, operations, render
from functions.webapp.resources import DEPLOYMENT, INGRESS, OWNED, SERVICE
from tests import json_patch
from tests.builders import WEBAPP, children, places, stored, webapp

names = st.sampled_from(["a", "b", "c/d", "e~f", "name"])
scalars = st.booleans() | st.integers(-3, 3) | st.text(string.ascii_letters, max_size=3)
json_values = st.recursive(
    st.none() | scalars | st.sampled_from(["1000m", "1", "64Mi", "9e999999Ki", "NaN", "-"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=4),
    max_leaves=12,
)
quantities = st.sampled_from(["1", "1000m", "1e3", "0.5", "500m", "64Mi", "1Gi", "0"]).map(Quantity)
definite = scalars | quantities


def _keyed(entries: list[dict[str, Any]]) -> Keyed:
    return Keyed("name", tuple({entry["name"]: entry for entry in entries}.values()))


wanted = st.recursive(
    definite,
    lambda inner: (
        st.dictionaries(names, inner | st.none(), max_size=4)
        | st.dictionaries(names, inner, max_size=3).map(Whole)
        | st.lists(inner, max_size=3)
        | st.lists(st.builds(lambda name, rest: {**rest, "name": name}, st.text("xyz", min_size=1, max_size=1),
                             st.dictionaries(st.sampled_from("ab"), inner, max_size=2)), max_size=3).map(_keyed)
    ),
    max_leaves=12,
)  # fmt: skip
objects = st.dictionaries(names, wanted | st.none(), max_size=4)
documents = st.dictionaries(names, json_values, max_size=4)


def kept(before: Any, after: Any, asked: Any) -> bool:
    """Whether everything that `asked` does not speak of is in `after` as it was in `before`."""
    match asked:
        case Whole():
            return True
        case Keyed(key, entries) if isinstance(before, list):
            ours = [entry[key] for entry in entries]
            others = [each for each in before if not (isinstance(each, dict) and each.get(key) in ours)]
            return all(each in after for each in others)
        case dict() if isinstance(before, dict):
            return isinstance(after, dict) and all(
                kept(value, after.get(name), asked[name]) if name in asked else after.get(name, ...) == value
                for name, value in before.items()
            )
        case _:
            return True


@given(documents, objects)
def test_applied_operations_make_the_observed_object_as_desired(observed: Any, asked: Any):
    after = json_patch.apply(deepcopy(observed), operations(observed, asked))
    assert operations(after, asked) == []


@given(documents, objects)
def test_what_the_desired_object_does_not_name_stays(observed: Any, asked: Any):
    after = json_patch.apply(deepcopy(observed), operations(observed, asked))
    assert kept(observed, after, asked)


@given(objects.filter(lambda asked: render(asked) is not None))
def test_a_rendered_object_already_is_as_desired(asked: Any):
    assert operations(render(asked), asked) == []


@given(json_values, wanted | st.none())
def test_nothing_that_json_can_say_makes_it_raise(observed: Any, asked: Any):
    operations(observed, asked)


@given(json_values, wanted)
def test_the_observed_object_and_the_desired_one_are_left_alone(observed: Any, asked: Any):
    seen, said = deepcopy(observed), deepcopy(asked)
    operations(observed, asked)
    assert (observed, asked) == (seen, said)


RICH = webapp(
    stored,
    host="web.example.com",
    tlsSecretName="web-tls",
    env=[{"name": "A", "value": "b"}, {"name": "P", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
    nodeSelector={"disk": "ssd"},
)
THEIRS = {
    "metadata": {"labels": {"team": "blue"}, "annotations": {"theirs": "1"}, "finalizers": ["theirs.example.org/x"]},
    "spec": {"theirs": {"deep": [1, 2]}, "template": {"metadata": {"annotations": {"restartedAt": "noon"}}}},
}
SIDECAR = {"name": "sidecar", "image": "envoy:3", "env": [{"name": "A", "value": "theirs"}]}


def merged(one: Any, other: Any) -> Any:
    if isinstance(one, dict) and isinstance(other, dict):
        return {**one, **{name: merged(one[name], value) if name in one else value for name, value in other.items()}}
    return other


def lived_in() -> list[tuple[dict[str, Any], Any]]:
    """Each child of a rich WebApp beside what other people put into it, and what the WebApp asks of it."""
    asked = {each: desired.child(each, RICH, model.parse(RICH), WEBAPP) for each in OWNED}
    found = []
    for resource in (DEPLOYMENT, SERVICE, INGRESS):
        real = merged(children(RICH)[resource], THEIRS)
        if resource is DEPLOYMENT:
            real["spec"]["template"]["spec"]["containers"].insert(0, SIDECAR)
        found.append((real, asked[resource]))
    return found


@st.composite
def lies(draw: st.DrawFn) -> tuple[Any, Any, Any]:
    """A real child, a false account of it, and what is asked of it."""
    real, asked = draw(st.sampled_from(lived_in()))
    told = deepcopy(real)
    for _ in range(draw(st.integers(1, 3))):
        *above, last = draw(st.sampled_from(places(told)))
        parent = told
        for step in above:
            parent = parent[step]
        if draw(st.booleans()):
            parent[last] = draw(json_values)
        else:
            del parent[last]
        if not told:
            break
    return real, told, asked


@given(lies())
def test_operations_from_a_lie_fail_or_harm_nobody(lie: tuple[Any, Any, Any]):
    real, told, asked = lie
    with suppress(*json_patch.Failed):
        assert kept(real, json_patch.apply(deepcopy(real), operations(told, asked)), asked)


def test_equal_amounts_in_another_spelling_need_no_operation():
    observed = {"cpu": "1", "memory": "64Mi", "disk": 1000, "gpu": 2}
    asked = Whole(
        {"cpu": Quantity("1000m"), "memory": Quantity("65536Ki"), "disk": Quantity("1k"), "gpu": Quantity("2")}
    )
    assert operations(observed, asked) == []


def test_keys_are_escaped_as_json_pointers():
    assert operations({"m": {"a/b": 1}}, {"m": {"a/b": None, "c~d": 2}}) == [
        {"op": "remove", "path": "/m/a~1b"},
        {"op": "add", "path": "/m/c~0d", "value": 2},
    ]


def test_a_map_that_is_added_must_not_be_there_yet():
    assert operations({}, {"labels": {"app": "web"}}) == [
        {"op": "test", "path": "/labels", "value": None},
        {"op": "add", "path": "/labels", "value": {"app": "web"}},
    ]


def test_a_container_is_found_by_name_and_its_index_asserted():
    observed = {"c": [{"name": "sidecar"}, {"name": "app", "image": "old"}]}
    assert operations(observed, {"c": Keyed("name", ({"name": "app", "image": "new"},))}) == [
        {"op": "test", "path": "/c/1/name", "value": "app"},
        {"op": "replace", "path": "/c/1/image", "value": "new"},
    ]


def test_a_number_is_not_a_boolean():
    assert operations({"a": 1}, {"a": True}) == [{"op": "replace", "path": "/a", "value": True}]
