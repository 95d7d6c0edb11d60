"""The loopback addresses that this machine has."""

import socket
from contextlib import suppress

from functions.dev.processes import LOOPBACK

LOOPBACKS = [LOOPBACK]
with suppress(OSError), socket.create_server(("::1", 0), family=socket.AF_INET6):
    LOOPBACKS.append("::1")
