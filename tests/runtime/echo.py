"""A server of the TLS profile, as small as one can be: `python -m tests.runtime.echo`."""

import os

from flask import Flask

from functions.runtime import extension, logs
from functions.runtime.server import Served
from functions.runtime.tls import Profile


def make(registry):
    app = Flask(__name__)
    app.add_url_rule("/echo", "echo", lambda: "hello", methods=["GET", "POST"])
    return Served(app, lambda: None)


if __name__ == "__main__":
    logs.configure(os.environ)
    extension.serve(make, Profile.load(os.environ))
