"""What a ClusterIP does: TCP connections to ready backends in turn; those that are open stay where they are."""

import asyncio
import threading
import urllib.request

from functions.dev.processes import LOOPBACK, free_port

PROBE_SECONDS = 0.5


class Balancer:
    """Listens on `port`; `backends` maps the TLS port of a replica to its health port."""

    def __init__(self, backends):
        self.port = free_port()
        self._backends = backends
        self._ready = []
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    def _run(self):
        with asyncio.Runner(loop_factory=lambda: self._loop) as runner:
            runner.run(self._serve())

    async def _serve(self):
        self._stop = asyncio.Event()
        self._loop.set_exception_handler(lambda *_: None)  # connections that are open at the end are cut
        server = await asyncio.start_server(self._forward, LOOPBACK, self.port)
        probing = asyncio.create_task(self._probe())
        await self._stop.wait()
        probing.cancel()
        server.close()

    async def _probe(self):
        while True:
            healthy = [await asyncio.to_thread(ready, health) for health in list(self._backends.values())]
            self._ready = [port for port, fine in zip(list(self._backends), healthy, strict=False) if fine]
            await asyncio.sleep(PROBE_SECONDS)

    async def _forward(self, reader, writer):
        try:
            self._turn += 1
            there = await asyncio.open_connection(LOOPBACK, self._ready[self._turn % len(self._ready)])
        except (OSError, ZeroDivisionError):
            writer.transport.abort()
            return
        await asyncio.gather(pump(reader, there[1]), pump(there[0], writer), return_exceptions=True)


async def pump(reader, writer):
    """Copy until the end, then say so to the other side."""
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        writer.transport.abort()
    finally:
        writer.close()


def ready(port):
    """Whether the server with this health port takes requests."""
    try:
        with urllib.request.urlopen(f"http://{LOOPBACK}:{port}/readyz", timeout=1):
            return True
    except OSError:
        return False
