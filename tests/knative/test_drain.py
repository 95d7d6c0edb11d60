"""The function between SIGTERM and its end, without anything of Knative before it."""

import json
import signal
import threading

import urllib3

from tests.builders import webapp
from tests.cluster.admin import WEBAPP
from tests.knative.test_queue_proxy import event


def test_function_that_ends_finishes_its_request_and_sends_new_ones_elsewhere(
    admin, namespace, processes, operator, apiserver, through_the_valve
):
    url = operator.start_function({"KUBECONFIG": str(through_the_valve)})
    found = admin.create(WEBAPP, webapp(namespace=namespace))
    apiserver.shut()
    answers: list[urllib3.BaseHTTPResponse] = []
    others: list[urllib3.BaseHTTPResponse] = []
    headers = {"content-type": "application/cloudevents+json"}

    def post():
        answers.append(urllib3.request("POST", url, body=json.dumps(event(found)), headers=headers, retries=False))

    def knock():
        with urllib3.PoolManager(retries=False, timeout=5) as pool:
            try:
                while not others or others[-1].status != 503:
                    others.append(pool.request("POST", url, body=b"{}", headers=headers))
            except urllib3.exceptions.HTTPError:
                pass

    threads = [threading.Thread(target=post), threading.Thread(target=knock)]
    for thread in threads:
        thread.start()
    assert apiserver.waiting.wait(10)
    function = processes[operator.name("function")]
    function.signal(signal.SIGTERM)
    threads[1].join(10)
    apiserver.open()
    threads[0].join(30)
    assert {answer.status for answer in others} == {400, 503}
    assert others[-1].headers["retry-after"] == "1"
    assert [answer.status for answer in answers] == [204]
    assert function.wait(10) == 0
