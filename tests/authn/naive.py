"""The control experiment: a webhook as one would write it at first, to see what kube-apiserver makes of its answers."""

from __future__ import annotations

import json

import urllib3

from tests.authn.front import Scripted

SECONDS = 2.0
"""How long it waits for the provider: no longer than the shipped one does."""


class Naive(Scripted):
    """Asks the provider about every token, keeps nothing, and passes failures on as HTTP errors.

    `failure` is the status that tells of them, `retry_after` its header.
    """

    def __init__(self, port, pair, provider, authority, failure=500, retry_after=None):
        super().__init__(pair, port)
        self.failure, self.retry_after = failure, retry_after
        self._provider = provider
        self._http = urllib3.PoolManager(ca_certs=str(authority.certificate), maxsize=64, retries=False)

    def respond(self, handler, body):
        review = json.loads(body)
        try:
            fields = {"token": review["spec"]["token"]}
            asked = self._http.request("POST", self._provider, fields=fields, encode_multipart=False, timeout=SECONDS)
        except urllib3.exceptions.HTTPError:
            asked = None
        if asked is None or asked.status != 200:
            handler.answer(self.failure, headers={"retry-after": self.retry_after} if self.retry_after else {})
            return
        claims = asked.json()
        status = {"authenticated": claims["active"]}
        if claims["active"]:
            status |= {"user": {"username": f"idp:{claims['sub']}"}, "audiences": claims["aud"]}
        handler.answer(200, {"apiVersion": review["apiVersion"], "kind": "TokenReview", "status": status})
