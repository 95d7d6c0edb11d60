"""`python -m functions.admission`: the admission webhooks under gunicorn, over TLS."""

from __future__ import annotations

import os
import sys

from prometheus_client import CollectorRegistry

from functions.admission.app import create_app
from functions.admission.figures import Figures
from functions.admission.settings import Settings
from functions.runtime import extension, logs, telemetry
from functions.runtime.server import Served
from functions.runtime.settings import SettingsError
from functions.runtime.tls import Profile

SERVICE = "webapp-admission"


def main() -> None:
    """Read the settings, or say what is wrong with them, and serve."""
    try:
        logs.configure(os.environ)
        settings = Settings.load(os.environ)
        profile = Profile.load(os.environ)
    except SettingsError as error:
        sys.exit(f"{SERVICE}: {error}")

    def make(registry: CollectorRegistry) -> Served:
        provider = telemetry.provider(SERVICE, os.environ)
        return Served(create_app(settings, telemetry.tracer(provider), Figures(registry)), provider.shutdown)

    extension.serve(make, profile)


if __name__ == "__main__":
    main()
