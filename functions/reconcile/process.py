"""The reconcile function as a process: settings, telemetry, the way to the API server, the app under gunicorn."""

from __future__ import annotations

import os
import sys

from functions.reconcile.app import TRIGGER, create_app
from functions.reconcile.session import Means
from functions.reconcile.settings import Settings
from functions.runtime import credentials, instruments, kube, logs, telemetry
from functions.runtime.names import Attr
from functions.runtime.senders import Senders
from functions.runtime.server import Served, serve
from functions.runtime.settings import SettingsError
from functions.runtime.startup import Startup
from functions.webapp.resources import OWNED, webapp

SERVICE = "webapp-reconcile"


def main() -> None:
    """Read the settings, or say what is wrong with them, and serve."""
    startup = Startup()
    startup.reached("import")
    try:
        logs.configure(os.environ)
        settings = Settings.load(os.environ)
        who = credentials.load(os.environ)
    except (SettingsError, credentials.CredentialsError) as error:
        sys.exit(f"{SERVICE}: {error}")
    startup.reached("settings")
    serve(lambda: _served(settings, who, startup), settings.at, threads=settings.threads)


def _served(settings: Settings, who: credentials.Credentials, startup: Startup) -> Served:
    traces, (metrics, close_metrics) = (
        telemetry.provider(SERVICE, os.environ),
        instruments.provider(SERVICE, os.environ),
    )
    tracer, measured = telemetry.tracer(traces), instruments.Instruments(metrics)
    for child in (webapp(settings.group), *OWNED):
        measured.conflicts.add(0, {Attr.OBJECT_KIND: child.kind})
    api = kube.Api(who, tracer, connections=settings.threads, user_agent=SERVICE, measure=measured.client.record)
    means = Means(api, webapp(settings.group), tracer, measured, settings.deadline_seconds)
    startup.reached("app")
    link = startup.finish(tracer, SERVICE)
    measured.init.record(startup.seconds, {Attr.FAAS_TRIGGER: TRIGGER})
    measured.coldstarts.add(1, {Attr.FAAS_TRIGGER: TRIGGER})
    app = create_app(settings, means, link)
    if settings.senders:
        Senders(settings.senders, api).guard(app)
    return Served(app, lambda: telemetry.close(traces.shutdown, close_metrics))
