"""`python -m functions.deadletter`: the dead-letter sink under gunicorn, its events on standard output."""

from __future__ import annotations

import os
import sys

from functions.deadletter.app import create_app
from functions.runtime import logs
from functions.runtime.listening import Address
from functions.runtime.server import Served, serve
from functions.runtime.settings import SettingsError


def main() -> None:
    """Read the port and serve."""
    logs.configure(os.environ)
    try:
        at = Address.load(os.environ, 8080)
    except SettingsError as error:
        sys.exit(f"webapp-dead-letters: {error}")
    serve(lambda: Served(create_app(sys.stdout.buffer), lambda: None), at, threads=8)


if __name__ == "__main__":
    main()
