"""The API server away and back: the sender is told to try again, and the function goes on without a restart."""

from __future__ import annotations

import json

from functions.dev.controlplane import ControlPlane
from functions.webapp.resources import OWNED, SYSTEM_NAMESPACE
from tests.builders import hosted, webapp
from tests.cluster.admin import Admin
from tests.cluster.sender import STRUCTURED, Sender, running


def test_an_api_server_that_is_away_is_waited_for_by_the_sender():
    with ControlPlane() as own:
        own.install()
        admin = Admin(own.kubeconfig)
        with running(own.service_account_kubeconfig(SYSTEM_NAMESPACE, "webapp-reconciler")) as function:
            sender = Sender(own, admin, "default", function)
            sender.deploy(webapp(hosted, replicas=0))
            quiet = sender.event()
            sender.edit(image="nginx:1.28")
            event = sender.event()

            own.stop_apiserver()
            for _ in range(3):
                answer = function.request("POST", "/", json.dumps(event).encode(), **STRUCTURED)
                assert (answer.status, answer.headers["retry-after"]) == (503, "1")
                assert answer.json["title"] == "api_unavailable"
            idle = function.request("POST", "/", json.dumps(quiet).encode(), **STRUCTURED)
            assert idle.status == 204  # nothing to do, and so nobody to ask
            assert function.ready()

            own.start_apiserver()
            assert sender.post(event).outcome == "updated"
            sender.wait_available()
            sender.settle()
            assert len(sender.snapshot()["owned"]) == len(OWNED)
            assert function.process.returncode is None
