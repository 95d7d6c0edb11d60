"""Pods created at a steady rate, each refusal kept."""

import itertools
import threading
import time

from functions.runtime.kube import Call
from functions.webapp.errors import ApiError
from tests.admission.pods import BY_NAME, to_create
from tests.admission.rig import api
from tests.cluster.admin import POD

THREADS = 8


class Load:
    """A context in which Pods are created `rate` times a second; `pause` stops it for a while. Nothing is stored."""

    def __init__(self, cluster, namespace, rate):
        self._api = api(cluster, THREADS)
        self._pod = to_create(BY_NAME["log-volume"].pod, namespace)
        self._pod["spec"]["securityContext"] = {"runAsNonRoot": True}
        self._interval = 1 / rate
        self._turns = itertools.count()
        self._lock = threading.Lock()
        self._stopped, self._going = threading.Event(), threading.Event()
        self._threads = [threading.Thread(target=self._run) for _ in range(THREADS)]
        self.created = 0
        self.failures: list[str] = []

    def __enter__(self):
        self._begun = time.monotonic()
        self._going.set()
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_):
        self._stopped.set()
        self._going.set()
        for thread in self._threads:
            thread.join()
        self._api.close()

    def pause(self, seconds):
        """Leave every connection idle for so long."""
        self._going.clear()
        time.sleep(seconds)
        self._begun = time.monotonic()
        self._turns = itertools.count()
        self._going.set()

    def go_on(self, count):
        """Return after so many more creates."""
        wanted = self.created + len(self.failures) + count
        while self.created + len(self.failures) < wanted:
            time.sleep(0.02)

    def _run(self):
        while not self._stopped.is_set():
            self._going.wait()
            time.sleep(max(0.0, self._begun + next(self._turns) * self._interval - time.monotonic()))
            if not self._going.is_set():
                continue
            try:
                found = self._api.send(Call("POST", POD, self._pod["metadata"]["namespace"], body=self._pod).dry())
                told = "" if found["spec"].get("initContainers") else "admitted without a sidecar"
            except ApiError as error:
                told = str(error)
            with self._lock:
                if told:
                    self.failures.append(told)
                else:
                    self.created += 1
