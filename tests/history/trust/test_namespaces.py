"""An APIService without a server stops every namespace deletion; one with two replicas never does.

The first half is the control: if nothing stalled there, the second half would prove nothing.
"""

import itertools
from functools import partial

import pytest

from functions.dev.cluster import KubectlError
from functions.dev.processes import LOOPBACK, free_port
from tests.cluster.admin import NAMESPACE, until
from tests.history.trust.rig import History
from tests.meanwhile import Meanwhile

_numbers = itertools.count()
FAILED = ("NamespaceDeletionDiscoveryFailure", "True")


def doomed(admin):
    """The name of a new namespace whose deletion has begun."""
    name = f"doomed-{next(_numbers)}"
    admin.create(NAMESPACE, {"metadata": {"name": name}})
    admin.delete(NAMESPACE, "", name)
    return name


def conditions(admin, name):
    """Types and states of a namespace's conditions; none where it is gone."""
    found = admin.find(NAMESPACE, "", name) or {}
    return {(each["type"], each["status"]) for each in found.get("status", {}).get("conditions", ())}


def test_deletion_stalls_while_the_only_server_is_dead_and_completes_when_it_is_back(plane, admin, group):
    with History(plane, group, replicas=1) as history:
        admin.wait_gone(NAMESPACE, "", doomed(admin))
        history.kill()
        until(lambda: history.available()[0] == "False", 90)
        name = doomed(admin)
        until(lambda: FAILED in conditions(admin, name), 60)
        assert admin.find(NAMESPACE, "", name)["status"]["phase"] == "Terminating"
        history.start()
        until(lambda: history.available()[0] == "True", 90)
        until(lambda: admin.find(NAMESPACE, "", name) is None, 90)


class Deletions(Meanwhile):
    """Namespaces that come and go without a pause; `failed` are those whose deletion met a failing discovery."""

    pause = 0.0

    def __init__(self, admin):
        self._admin = admin
        self.done, self.failed = 0, []

    def again(self):
        name = doomed(self._admin)
        until(partial(self._gone, name), 60)
        self.done += 1

    def _gone(self, name):
        found = conditions(self._admin, name)
        if FAILED in found:
            self.failed.append(name)
        return self._admin.find(NAMESPACE, "", name) is None

    def go_on(self):
        seen = self.done
        until(lambda: self.done >= seen + 2, 60)


def test_deletion_never_stalls_while_two_replicas_are_rolled(plane, admin, group):
    with History(plane, group, replicas=2) as history, Deletions(admin) as deletions:
        deletions.go_on()
        before = history.available()
        history.restart()
        deletions.go_on()
        assert history.available() == before
    assert (deletions.failed, before[0]) == ([], "True")


def test_registration_and_deletions_ask_nothing_of_a_database_that_was_never_there(plane, admin, group):
    away = f"postgresql://history@{LOOPBACK}:{free_port()}/history"
    with History(plane, group, replicas=1, HISTORY_DATABASE_URL=away) as history:
        with pytest.raises(KubectlError, match=r"ServiceUnavailable.*the database of the history is away"):
            plane.kubectl("get", "reconciles", "-A")
        admin.wait_gone(NAMESPACE, "", doomed(admin))
        assert history.available()[0] == "True"
