"""`python -m functions.history.recorder`: the recorder under gunicorn."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime

from functions.history.recorder.app import Recorder, create_app
from functions.history.recorder.batches import Batches
from functions.history.recorder.measures import Measures
from functions.history.recorder.retention import Retention
from functions.history.recorder.settings import Settings
from functions.history.recorder.transaction import Transaction
from functions.history.store import Store
from functions.runtime import credentials, instruments, kube, logs, telemetry
from functions.runtime.senders import Senders
from functions.runtime.server import Served, serve
from functions.runtime.settings import SettingsError

SERVICE = "webapp-history-recorder"


def main() -> None:
    """Read the settings, or say what is wrong with them, and serve."""
    logs.configure(os.environ)
    try:
        settings = Settings.load(os.environ)
        who = credentials.load(os.environ) if settings.senders else None
    except (SettingsError, credentials.CredentialsError) as error:
        sys.exit(f"{SERVICE}: {error}")
    serve(lambda: _served(settings, who), settings.at, threads=settings.threads)


def _served(settings: Settings, who: credentials.Credentials | None) -> Served:
    traces, (metrics, close_metrics) = (
        telemetry.provider(SERVICE, os.environ),
        instruments.provider(SERVICE, os.environ),
    )
    tracer, measures = telemetry.tracer(traces), Measures(metrics)
    store = Store(settings.database, settings.history_group)
    system = settings.database.url.get_backend_name()
    transaction = Transaction(store.append, system, tracer, measures)
    batches = Batches(transaction.write, limit=settings.queue, seconds=settings.patience)
    retention = Retention(
        lambda: store.prune(settings.keep_runs, settings.age, datetime.now(UTC)), measures, settings.prune_seconds
    )
    app = create_app(Recorder(settings.group, batches, tracer, measures))
    if settings.senders and who:
        Senders(settings.senders, kube.Api(who, tracer, connections=1, user_agent=SERVICE)).guard(app)

    def close() -> None:
        retention.close()
        batches.close()
        store.close()
        telemetry.close(traces.shutdown, close_metrics)

    return Served(app, close)


if __name__ == "__main__":
    main()
