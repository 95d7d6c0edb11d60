"""`python -m tests.bench.history`: the history's store with 100,000 rows, in both databases; no cluster is needed.

`stores` and `fill` give other benchmarks a database to serve from, `timed` and `Measured` a form for what they find.
"""

from __future__ import annotations

import gc
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from functions.aggregation.collection import Selection
from functions.aggregation.selectors import FieldRequirement, Operator, Requirement
from functions.dev.postgres import Postgres
from functions.history.record import DEFAULT_GROUP, Record
from functions.history.settings import Database
from functions.history.store import Store
from functions.webapp.outcome import Outcome
from tests.bench.figures import Latency, latency
from tests.bench.tables import Table
from tests.history.runs import row

NAMESPACES, WEBAPPS = 20, 50
BATCH = 500
_OUTCOMES = [Outcome.UNCHANGED] * 6 + [Outcome.UPDATED] * 3 + [Outcome.BLOCKED]
_RARE = 10_000
"""One run in so many was superseded."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One line: what was done, and how long it took."""

    what: str
    took: Latency


def timed(what: str, times: int, operation: Callable[[], object]) -> Measured:
    """Do it once for nothing and then `times` times."""
    operation()
    seconds = []
    for _ in range(times):
        began = time.perf_counter()
        operation()
        seconds.append(time.perf_counter() - began)
    return Measured(what, latency(seconds))


def records(count: int, start: int = 0) -> Iterator[Record]:
    """Runs as a cluster with a thousand WebApps has them: most change nothing, a few fail."""
    now = datetime.now(UTC) - timedelta(seconds=count)
    for number in range(start, start + count):
        yield row(
            number,
            namespace=f"team-{number % NAMESPACES}",
            webapp=f"app-{number // NAMESPACES % WEBAPPS}",
            outcome=Outcome.STALE if number % _RARE == 0 else _OUTCOMES[number % len(_OUTCOMES)],
            started_at=now + timedelta(seconds=number),
        )


def fill(store: Store, count: int, start: int = 0) -> float:
    """Append so many runs in batches; the seconds that the database took."""
    spent, batch = 0.0, list[Record]()
    for each in records(count, start):
        batch.append(each)
        if len(batch) == BATCH:
            spent += _append(store, batch)
            batch = []
    return spent + (_append(store, batch) if batch else 0.0)


@contextmanager
def stores(kind: str) -> Iterator[tuple[str, Store]]:
    """A store on a new database, and its URL: `sqlite`, or `postgresql` as a server comes, fsync included."""
    with ExitStack() as stack:
        if kind == "sqlite":
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="webapp-"))
            url = f"sqlite:///{folder}/history.db"
        else:
            url = stack.enter_context(Postgres(options=())).database()
        store = Store(Database.load({"HISTORY_DATABASE_URL": url, "HISTORY_STATEMENT_SECONDS": "60"}), DEFAULT_GROUP)
        stack.callback(store.close)
        yield url, store


def measure(store: Store, rows: int) -> list[Measured]:
    """Everything that a server asks of a store; pages hold 500 rows, as kubectl's do."""
    one = Selection("team-3")
    app = Selection("team-3", fields=(FieldRequirement("spec.webAppRef.name", True, "app-7"),))
    failed = Selection(labels=(Requirement("outcome", Operator.EQUAL, ("Failed",)),))
    rare = Selection(fields=(FieldRequirement("status.outcome", True, "Superseded"),))
    at, middle, last = _middle(store, rows)
    newest = store.version()
    number = iter(range(rows, 2 * rows))

    def add() -> None:
        start = next(number)
        store.append(list(records(1, start)))

    found = [
        timed("first page of 500, all namespaces", 100, lambda: store.list(Selection(), 500)),
        timed("page of 500 in the middle", 100, lambda: store.list(Selection(), 500, at, middle)),
        timed("first page of 500, one namespace", 100, lambda: store.list(one, 500)),
        timed("all runs of one WebApp", 100, lambda: store.list(app, 500)),
        timed("page of 500 that failed", 100, lambda: store.list(failed, 500)),
        timed("all ten that were superseded", 20, lambda: store.list(rare, 500)),
        timed("one by its name", 300, lambda: store.get(last["namespace"], last["name"])),
        timed("changes: there are none", 300, lambda: store.changes(newest, 1000)),
        timed("append one", 300, add),
    ]
    found.append(timed("changes: 300", 50, lambda: store.changes(newest, 1000)))
    found.append(timed("version", 300, store.version))
    return found


def table(kind: str, rows: int, spent: float, found: list[Measured]) -> Table:
    """For a terminal or a page."""
    lines = [(each.what, f"{each.took.p50:g}", f"{each.took.p99:g}", f"{each.took.most:g}") for each in found]
    title = f"{kind}: {rows:,} rows, appended in batches of {BATCH} at {rows / spent:,.0f} rows/s"
    return Table(f"history-{kind}", title, ("operation", "p50 ms", "p99 ms", "most ms"), tuple(lines))


def main(
    rows: Annotated[int, typer.Option(help="How many runs are stored.")] = 100_000,
    database: Annotated[list[str] | None, typer.Option(help="sqlite, postgresql; both unless given.")] = None,
) -> None:
    """Print how long the store takes for everything that is asked of it."""
    gc.collect()
    gc.freeze()  # as every function does before it serves
    for kind in database or ["sqlite", "postgresql"]:
        with stores(kind) as (_, store):
            spent = fill(store, rows)
            found = table(kind, rows, spent, [*measure(store, rows), _pruned(store, rows)])
        typer.echo(f"{found.title}\n\n{found.markdown()}\n")
    load = os.getloadavg()[0]
    typer.echo(f"{os.cpu_count()} cores, Python {platform.python_version()}, load average {load:.1f} at the end.")


def _middle(store: Store, rows: int) -> tuple[int, str, dict[str, Any]]:
    """Version and position of the page in the middle, and the metadata before it; what lies before is not kept."""
    page = store.list(Selection(), 1)
    for _ in range(rows // 1000):
        page = store.list(Selection(), 500, page.version, page.more)
    return page.version, page.more, page.objects[-1]["metadata"]


def _pruned(store: Store, rows: int) -> Measured:
    """Half of all runs at once, which is far more than retention ever finds."""
    began = time.perf_counter()
    done: Any = store.prune(rows // (NAMESPACES * WEBAPPS) // 2, timedelta(days=3650), datetime.now(UTC))
    return Measured(f"prune {done.deleted:,} rows", latency([time.perf_counter() - began]))


def _append(store: Store, batch: list[Record]) -> float:
    began = time.perf_counter()
    store.append(batch)
    return time.perf_counter() - began


if __name__ == "__main__":
    typer.run(main)
