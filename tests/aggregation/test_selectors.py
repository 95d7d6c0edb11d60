"""Our selectors against kube-apiserver's own, over the same objects: the same verdict, the same matches."""

import itertools
import json
import re
from urllib.parse import urlencode

import pytest
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from functions.aggregation import selectors
from functions.webapp.resources import Resource

CONFIG_MAP = Resource("", "v1", "ConfigMap", "configmaps")
NAMESPACE = "selectors"
KEYS = ("app", "in", "notin", "example.com/tier", "x")
VALUES = ("", "a", "b", "in", "A.b_c-d")
CHOICES = [None, *VALUES]
LABELS = [
    {key: value for key, value in zip(KEYS, values, strict=False) if value is not None}
    for values in itertools.product(CHOICES, CHOICES[:3], CHOICES[:2], CHOICES[:3])
]
OBJECTS = {
    f"object-{number}": {"metadata": {"name": f"object-{number}", "namespace": NAMESPACE, "labels": labels}}
    for number, labels in enumerate(LABELS)
}
PIECES = (*KEYS, *VALUES, "=", "==", "!=", "!", "(", ")", ",", " in ", " notin ", " ", "\t", "%", "a/b/c", "-a", "é")
FIELD_PIECES = (
    "metadata.name",
    "metadata.namespace",
    "object-1",
    "object-22",
    NAMESPACE,
    "=",
    "==",
    "!=",
    ",",
    "\\",
    "x",
    " ",
)


@pytest.fixture(scope="module")
def ask(plane):
    """kube-apiserver's answer: the names that it selects, None where it refuses."""
    plane.kubectl("create", "namespace", NAMESPACE)
    items = [{"apiVersion": "v1", "kind": "ConfigMap", **each} for each in OBJECTS.values()]
    plane.kubectl("create", "-f", "-", stdin=json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    url = f"{plane.server}{CONFIG_MAP.path(NAMESPACE)}"

    def run(**parameters):
        answer = plane._http.request("GET", f"{url}?{urlencode({'limit': 0, **parameters})}")
        assert answer.status in {200, 400}
        if answer.status == 400:
            return None
        return {each["metadata"]["name"] for each in answer.json()["items"]} & OBJECTS.keys()

    return run


def ours(parse, text, part):
    try:
        found = parse(text)
    except selectors.SelectorError:
        return None
    return {name for name, obj in OBJECTS.items() if all(each.matches(part(obj)) for each in found)}


requirements = st.one_of(
    st.builds("{}{}{}".format, st.sampled_from(KEYS), st.sampled_from(["=", "==", "!="]), st.sampled_from(VALUES)),
    st.builds(
        "{} {} ({})".format,
        st.sampled_from(KEYS),
        st.sampled_from(["in", "notin"]),
        st.lists(st.sampled_from(VALUES), max_size=3).map(",".join),
    ),
    st.builds("{}{}".format, st.sampled_from(["", "!"]), st.sampled_from(KEYS)),
)
noise = st.lists(st.sampled_from(PIECES), max_size=9).map("".join)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(requirements, min_size=1, max_size=3).map(",".join) | noise)
@example(text="app in (,)")
@example(text="app in ()")
@example(text="app in (a,,b)")
@example(text="app=,x")
@example(text="!app=a")
@example(text="app a")
@example(text="app,")
@example(text=",app")
@example(text="in in (in)")
@example(text="notin notin (notin)")
@example(text="!!app")
@example(text="app=!a")
@example(text="app===a")
def test_labels_are_selected_as_kube_apiserver_does_it(ask, text):
    assert ours(selectors.labels, text, lambda obj: obj["metadata"]["labels"]) == ask(labelSelector=text)


@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(st.sampled_from(FIELD_PIECES), max_size=8).map("".join))
@example(text="metadata.name=object-1,")
@example(text=",,metadata.name!=object-1")
@example(text="metadata.name=a=b")
@example(text=r"metadata.name=a\=b")
@example(text=r"metadata.name=a\,b")
@example(text=r"metadata.name=a\xb")
@example(text="metadata.name=object-1\\")
@example(text="metadata.name===x")
def test_fields_are_selected_as_kube_apiserver_does_it(ask, text):
    assume(not re.search(r"(^|,)[=!]", text))  # kube-apiserver drops some terms without a name
    known = ("metadata.name", "metadata.namespace")
    assert ours(lambda each: selectors.fields(each, known), text, lambda obj: obj) == ask(fieldSelector=text)
