"""The smallest API behind the aggregator, `python -m tests.aggregation.trust.whoami`: each object says who asked."""

import hashlib
import os
import sys

from flask import Flask, Response, request

from functions.aggregation import server
from functions.aggregation.authorization import Action
from functions.aggregation.status import StatusError
from functions.runtime import logs
from functions.runtime.server import Served
from functions.runtime.settings import SettingsError
from functions.runtime.tls import Profile, client_chain
from functions.webapp import strict_json
from functions.webapp.resources import Resource

WHOAMI = Resource("whoami.example.com", "v1", "WhoAmI", "whoamis")
SERVICE = "whoami"


def make(parts):
    app = Flask(__name__, static_folder=None)

    def answered(view):
        def answer(**where):
            try:
                return json(view(parts.authenticate(request.environ), **where))
            except StatusError as error:
                return json(error.document(), error.code)

        return answer

    def discovery(_user):
        resource = {"name": WHOAMI.plural, "singularName": "whoami", "kind": WHOAMI.kind}
        resources = [{**resource, "namespaced": True, "verbs": ["get"]}]
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": WHOAMI.api_version,
            "resources": resources,
        }

    def get(user, namespace, name):
        parts.authorize(user, Action("get", WHOAMI, namespace, name))
        extra = {key: list(values) for key, values in user.extra.items()}
        status = {"name": user.name, "groups": list(user.groups), "uid": user.uid, "extra": extra}
        caller = hashlib.sha256(client_chain(request.environ["gunicorn.socket"])[0]).hexdigest()
        metadata = {"namespace": namespace, "name": name, "annotations": {"caller": caller}}
        return {"apiVersion": WHOAMI.api_version, "kind": WHOAMI.kind, "metadata": metadata, "status": status}

    app.add_url_rule(WHOAMI.root, "discovery", answered(discovery))
    app.add_url_rule(WHOAMI.path("<namespace>", "<name>"), "get", answered(get))
    return Served(app, lambda: None)


def json(body, status=200):
    return Response(strict_json.dumps(body), status, content_type="application/json")


def main():
    logs.configure(os.environ)
    try:
        server.serve(SERVICE, make, Profile.load(os.environ), os.environ)
    except SettingsError as error:
        sys.exit(f"whoami: {error}")


if __name__ == "__main__":
    main()
