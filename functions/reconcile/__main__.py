"""`python -m functions.reconcile`: the reconcile function under gunicorn."""

from __future__ import annotations

import os
import sys

from functions.reconcile.app import create_app
from functions.reconcile.session import Means
from functions.reconcile.settings import Settings
from functions.runtime import credentials, kube, telemetry
from functions.runtime.server import Served, serve
from functions.runtime.settings import SettingsError
from functions.webapp.resources import webapp


def main() -> None:
    """Read the settings, or say what is wrong with them, and serve."""
    telemetry.logs(os.environ)
    try:
        settings = Settings.load(os.environ)
        credentials.load(os.environ)
    except (SettingsError, credentials.CredentialsError) as error:
        sys.exit(f"functions.reconcile: {error}")

    def make() -> Served:
        provider = telemetry.provider("webapp-reconcile", os.environ)
        tracer = telemetry.tracer(provider)
        who = credentials.load(os.environ)
        api = kube.Api(who, tracer, connections=settings.threads, user_agent="webapp-reconcile")
        means = Means(api, webapp(settings.group), tracer, settings.deadline_seconds)
        return Served(create_app(settings, means), provider.shutdown)

    serve(make, port=settings.port, threads=settings.threads)


if __name__ == "__main__":
    main()
