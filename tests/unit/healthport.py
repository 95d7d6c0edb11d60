"""A health server for as long as a block lasts; a process has it to its end."""

import socket
import threading
from contextlib import contextmanager

from functions.runtime.health import HealthServer


@contextmanager
def serving(checks, at):
    """Gives the server."""
    made = HealthServer(checks, at)
    made.start()
    try:
        yield made
    finally:
        ending = threading.Thread(target=made._server.shutdown)
        ending.start()
        while ending.is_alive():  # it sleeps until somebody comes
            socket.create_connection((at.host, made.port)).close()
            ending.join(0.05)
        made._server.server_close()
