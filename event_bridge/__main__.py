"""`python -m event_bridge`: read the environment, run until SIGTERM or SIGINT."""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from typing import Final

from event_bridge import allocator, settings
from event_bridge.process import Process
from functions.runtime import credentials, logs, telemetry
from functions.runtime.credentials import CredentialsError
from functions.runtime.settings import SettingsError

STACK_BYTES: Final = 256 * 1024
_ENDINGS: Final = (signal.SIGTERM, signal.SIGINT)


def main() -> int:
    """Exit code 0 after a signal, 2 where the environment is wrong."""
    allocator.keep_small()
    logs.configure(os.environ)
    signal.pthread_sigmask(signal.SIG_BLOCK, _ENDINGS)  # before any thread: `sigwait` below is the one to hear them
    threading.stack_size(STACK_BYTES)
    try:
        wanted = settings.load(os.environ)
        where = credentials.load(os.environ)
        provider = telemetry.provider("webapp-bridge", os.environ)
        process = Process(wanted, where, telemetry.tracer(provider))
    except (SettingsError, CredentialsError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    gc.freeze()  # what was loaded stays: no collection has to look at it again
    process.start()
    signal.sigwait(_ENDINGS)
    process.stop()
    provider.shutdown()
    return 0


if __name__ == "__main__":
    sys.exit(main())
