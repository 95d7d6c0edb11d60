"""`python -m functions.history.apiserver`: the reconcile history behind kube-apiserver's aggregator.

Readiness asks nobody: a server that is not ready while its database is away would make the APIService unavailable, and
that stops every namespace deletion of the cluster.
"""

from __future__ import annotations

import os
import sys

from functions.aggregation import server
from functions.aggregation.app import create_app
from functions.aggregation.server import Parts
from functions.history.apiserver.kind import kind
from functions.history.apiserver.settings import Settings
from functions.history.store import Store
from functions.runtime import logs
from functions.runtime.server import Served
from functions.runtime.settings import SettingsError

SERVICE = "webapp-history"


def main() -> None:
    """Read the settings and the front proxy's terms, or say what is wrong with them, and serve."""
    try:
        logs.configure(os.environ)
        settings = Settings.load(os.environ)

        def make(parts: Parts) -> Served:
            store = Store(settings.database, settings.group)
            return Served(create_app({kind(settings.group): store}, parts, watches=settings.watches), store.close)

        server.serve(SERVICE, make, settings.profile, os.environ)
    except SettingsError as error:
        sys.exit(f"{SERVICE}: {error}")


if __name__ == "__main__":
    main()
