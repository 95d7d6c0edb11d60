"""One tree out of many traces, its lines, and its page."""

import json
from dataclasses import replace

from functions.dev import otlp, spantext, story, tracetree, waterfall
from functions.dev.otlp import Happening, Reference, Span
from functions.runtime.names import Attr, LinkKind, Mark
from tests import browser

MS = 1_000_000


def span(trace, name, start, end, parent="", *, links=(), happenings=(), failed=False, **attributes):
    """A span whose id is its name; times in milliseconds."""
    told = {key.replace("_", "."): value for key, value in attributes.items()}
    found = tuple(Reference(to, at, {Attr.LINK: kind}) for kind, to, at in links)
    return Span(
        trace_id=trace,
        span_id=name,
        parent=parent,
        name=name,
        kind="internal",
        service="webapp-bridge" if name.startswith("publish") else "webapp-reconcile",
        start=start * MS,
        end=end * MS,
        failed=failed,
        message="it broke" if failed else "",
        attributes=told,
        happenings=tuple(happenings),
        links=found,
    )


CREATE = [
    span("1", "publish", 100, 150),
    span("1", "reconcile", 110, 140, "publish", links=[(LinkKind.INIT, "0", "init")]),
]
INIT = span("0", "init", 0, 90)
READY = [
    span("2", "publish ready", 60_000, 60_050, links=[(LinkKind.STAMP, "1", "reconcile")]),
    span("2", "reconcile ready", 60_010, 60_040, "publish ready"),
]
OTHER = span("3", "publish other", 200, 210)
CONFLICT = Happening(
    Mark.CONFLICT,
    120 * MS,
    {Attr.OBJECT_KIND: "Deployment", Attr.VERSION_SENT: "7", Attr.VERSION_FOUND: "9", Attr.ATTEMPT: 1},
)


def outline(spans):
    return [(depth, node.via, node.span.name) for root in tracetree.grow(spans) for depth, node in root.walk()]


def test_what_links_back_hangs_below_and_a_cold_start_below_who_waited_for_it():
    assert outline([*READY, INIT, *CREATE]) == [
        (0, "", "publish"),
        (1, "", "reconcile"),
        (2, LinkKind.INIT, "init"),
        (2, LinkKind.STAMP, "publish ready"),
        (3, "", "reconcile ready"),
    ]


def test_links_in_a_circle_do_not_hide_anything():
    ring = [
        span("1", "a", 0, 1, links=[(LinkKind.STAMP, "2", "b")]),
        span("2", "b", 1, 2, links=[(LinkKind.STAMP, "1", "a")]),
    ]
    assert sorted(name for _, _, name in outline(ring)) == ["a", "b"]


def test_link_to_a_span_that_is_not_there_is_told():
    text = "\n".join(tracetree.text(line) for line in tracetree.lines(tracetree.grow(READY)))
    assert "⇠ stamp: trace 1  not recorded, or not kept any more" in text


def test_orphan_whose_parent_was_not_recorded_stands_at_the_top():
    assert outline([CREATE[1]]) == [(0, "", "reconcile")]


def test_offsets_count_from_the_first_root_and_a_cold_start_lies_before_it():
    offsets = {line.title: line.offset // MS for line in tracetree.lines(tracetree.grow([INIT, *CREATE]))}
    assert offsets == {"publish": 0, "reconcile": 10, "⇢ init: init": -100}


def test_conflict_and_error_are_told_where_they_happened():
    spans = [replace(CREATE[1], parent="", happenings=(CONFLICT,), failed=True, message="it broke", links=())]
    head, moment = tracetree.lines(tracetree.grow(spans))
    assert (head.tone, head.detail) == ("error", "✗ error: it broke")
    assert (moment.tone, moment.offset) == ("conflict", 10 * MS)
    assert moment.detail == "Deployment: sent 7, found 9, attempt 1"


def test_stories_are_what_links_connect_and_the_newest_is_the_last_that_changed_something():
    changed = replace(CREATE[0], attributes={Attr.OUTCOME: "created"})
    quiet = replace(OTHER, attributes={Attr.OUTCOME: "unchanged"})
    found = story.stories([*READY, quiet, changed, CREATE[1], INIT])
    assert [sorted({each.trace_id for each in one}) for one in found] == [["0", "1", "2"], ["3"]]
    assert {each.trace_id for each in story.newest(found)} == {"0", "1", "2"}


def test_api_call_is_titled_by_its_object():
    url = "https://127.0.0.1:6443/apis/apps/v1/namespaces/team/deployments/web?fieldManager=webapp-operator"
    call = span("1", "PATCH", 0, 1, http_request_method="PATCH", url_full=url, url_template="…")
    assert spantext.title(call) == "PATCH deployments/web"


def test_times_have_the_unit_that_fits():
    assert [spantext.time(n) for n in (500_000, 12 * MS, 2_500 * MS, 3_600_000 * MS)] == [
        "0.50 ms",
        "12.0 ms",
        "2.50 s",
        "60.0 min",
    ]


def test_otlp_json_is_read_in_both_spellings_of_enums_and_repeated_spans_count_once():
    raw = {
        "traceId": "1",
        "spanId": "a",
        "name": "x",
        "kind": "SPAN_KIND_CLIENT",
        "startTimeUnixNano": "5",
        "endTimeUnixNano": "7",
        "attributes": [
            {"key": "n", "value": {"intValue": "3"}},
            {"key": "l", "value": {"arrayValue": {"values": [{"stringValue": "x"}, {"boolValue": True}]}}},
        ],
        "status": {"code": "STATUS_CODE_ERROR", "message": "boo"},
    }
    twice = {"resourceSpans": [{"scopeSpans": [{"spans": [raw, {**raw, "kind": 3, "status": {"code": 2}}]}]}]}
    (found,) = otlp.spans(twice)
    assert (found.kind, found.failed, found.start, found.end) == ("client", True, 5, 7)
    assert found.attributes == {"n": 3, "l": ("x", True)}


def test_long_rest_is_cut_short_and_everything_else_keeps_its_length():
    scale = waterfall.Scale.of([*CREATE, *READY])
    assert scale(CREATE[0].end) - scale(CREATE[0].start) == 50
    assert scale(READY[0].end) - scale(READY[0].start) == 50
    assert scale(READY[0].start) - scale(CREATE[0].end) == 100 * waterfall.IDLE_SHARE
    assert scale.length == 105
    ((at, left_out),) = scale.cuts
    assert scale(CREATE[0].end) < at < scale(READY[0].start)
    assert left_out == 59_850 - 5


def test_page_draws_what_it_is_given_and_runs_none_of_it(tmp_path):
    evil = replace(
        OTHER, name="</script><script>document.title='evil'</script>", attributes={"x": "<img src=x onerror=1>"}
    )
    failed = replace(CREATE[1], failed=True, happenings=(CONFLICT,))
    page = tmp_path / "page.html"
    page.write_text(waterfall.page("a story", [CREATE[0], failed, INIT, *READY, evil]), encoding="utf-8")
    drawn = browser.dom(page, "#5")
    assert drawn.count('class="bar"') == 6
    assert drawn.count('class="mark clash"') == 1
    assert drawn.count('class="row bad"') == 1
    assert "<title>a story</title>" in drawn
    assert "<img" not in drawn
    assert "&lt;img src=x onerror=1&gt;" in drawn.partition("<aside")[2]
    assert json.loads(page.read_text().partition('id="data">')[2].partition("</script>")[0])["told"].endswith(
        "in 4 traces"
    )
