"""`python -m tests.bench.startup`: a bridge that starts onto 10,000 WebApps while people go on editing them.

Told are how long an edit waits behind the backlog of the first sync, when the backlog is empty, and what the bridge
holds in memory. WebApps have no children here, so that the API server is not what is measured.
"""

from __future__ import annotations

import json
import random
import time
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import track

from tests.bench import usage
from tests.bench.figures import latency
from tests.bench.pods import start_bridge
from tests.bench.rig import Rig, name_of
from tests.bench.sink import Sink

_POLL_SECONDS = 0.2
_PATIENCE_SECONDS = 600.0


def measure(webapps: int, edits: int, console: Console) -> dict[str, float]:
    """One start; seconds, milliseconds and MiB by name."""
    with Rig() as rig, Sink() as sink:
        with rig.parallel() as pool:
            for _ in track(pool.map(rig.create, range(webapps)), "creating", webapps, console=console):
                pass
        begun = time.monotonic()
        process, _ = start_bridge(rig, sink.url)
        synced = time.monotonic()
        chosen = random.Random(1).sample(range(webapps), edits)
        made = []
        for turn, number in enumerate(chosen, start=1):
            rig.change(number, env=[{"name": "SEQ", "value": str(turn)}])
            made.append((name_of(number), turn, time.monotonic()))
        edited, ahead = time.monotonic(), len(sink.posts())
        while len({post.name for post in sink.posts()}) < webapps:
            if time.monotonic() - begun > _PATIENCE_SECONDS:
                raise TimeoutError(f"{len(sink.posts())} events after {_PATIENCE_SECONDS:g} s")
            time.sleep(_POLL_SECONDS)
        drained = max(post.when for post in sink.posts())
        waits = [
            max(0.0, next(post.when for post in sink.posts() if post.covers(name, turn, 0.0)) - answered)
            for name, turn, answered in made
        ]
        found, held = latency(waits), usage.memory(usage.family(process.pid))
        return {
            "start to ready s": round(synced - begun, 2),
            "backlog when the last edit was made": webapps - ahead,
            "edits took s": round(edited - synced, 2),
            "backlog empty after s": round(drained - begun, 2),
            "edit answered to event p50 ms": found.p50,
            "edit answered to event p99 ms": found.p99,
            "bridge RSS MiB": round(held.rss, 1),
        }


def main(
    webapps: Annotated[int, typer.Option(help="How many WebApps there are at the start.")] = 10_000,
    edits: Annotated[int, typer.Option(help="How many are edited meanwhile.")] = 100,
) -> None:
    """Print the figures as JSON."""
    console = Console(stderr=True)
    print(json.dumps(measure(webapps, edits, console), indent=2))


if __name__ == "__main__":
    typer.run(main)
