"""A real identity provider, Ory Hydra, and the tokens that it gives."""

from __future__ import annotations

import json
import secrets

import urllib3

from functions.dev.processes import LOOPBACK, ProcessGroup, free_port
from functions.dev.toolchain import Toolchain
from tests.authn.front import Scripted

AUDIENCE = "webapp-cluster"
API_AUDIENCES = ("https://kubernetes.default.svc", AUDIENCE)
"""What the API server asks for."""
PATH = "/admin/oauth2/introspect"


class Hook(Scripted):
    """Hydra asks it what to add to a client's tokens: `claims` by client."""

    def __init__(self):
        super().__init__()
        self.claims = {}

    def respond(self, handler, body):
        client = json.loads(body)["request"]["client_id"]
        handler.answer(200, {"session": {"access_token": self.claims.get(client, {})}})


class Hydra:
    """One Hydra with its state in memory, in a process group of the caller's."""

    def __init__(self, group: ProcessGroup, hook: Hook, name: str = "hydra") -> None:
        self.public, self.admin = free_port(), free_port()
        self._hook = hook
        self._http = urllib3.PoolManager(maxsize=8)
        config = {
            "dsn": "memory",
            "secrets": {"system": [secrets.token_hex(16)]},
            "urls": {"self": {"issuer": f"http://{LOOPBACK}:{self.public}"}},
            "serve": {
                "public": {"host": LOOPBACK, "port": self.public},
                "admin": {"host": LOOPBACK, "port": self.admin},
            },
            "oauth2": {"token_hook": hook.url, "hashers": {"algorithm": "bcrypt", "bcrypt": {"cost": 4}}},
            "sqa": {"opt_out": True},
            "log": {"level": "warn"},
        }
        path = group.folder / f"{name}.json"
        path.write_text(json.dumps(config))
        program = Toolchain.from_environment().find("hydra")
        self.process = group.start(name, [program, "serve", "all", "--dev", "-c", path])
        self.process.wait_until(self._ready)

    @property
    def introspection(self):
        return f"http://{LOOPBACK}:{self.admin}{PATH}"

    def client(self, name, lifespan="", **claims):
        """Register a client whose tokens carry these claims; gives its name."""
        body = {
            "client_id": name,
            "client_secret": f"secret-of-{name}",
            "grant_types": ["client_credentials"],
            "audience": [AUDIENCE, "elsewhere"],
            "token_endpoint_auth_method": "client_secret_post",
            **({"client_credentials_grant_access_token_lifespan": lifespan} if lifespan else {}),
        }
        answer = self._http.request("POST", f"http://{LOOPBACK}:{self.admin}/admin/clients", json=body)
        assert answer.status == 201, answer.data
        self._hook.claims[name] = claims
        return name

    def token(self, client, audience=AUDIENCE):
        """A new access token."""
        fields = {
            "grant_type": "client_credentials",
            "client_id": client,
            "client_secret": f"secret-of-{client}",
            **({"audience": audience} if audience else {}),
        }
        answer = self._http.request(
            "POST", f"http://{LOOPBACK}:{self.public}/oauth2/token", fields=fields, encode_multipart=False
        )
        assert answer.status == 200, answer.data
        return answer.json()["access_token"]

    def revoke(self, client, token):
        fields = {"token": token, "client_id": client, "client_secret": f"secret-of-{client}"}
        answer = self._http.request(
            "POST", f"http://{LOOPBACK}:{self.public}/oauth2/revoke", fields=fields, encode_multipart=False
        )
        assert answer.status == 200, answer.data

    def _ready(self):
        try:
            url = f"http://{LOOPBACK}:{self.admin}/health/ready"
            return self._http.request("GET", url, retries=False, timeout=1.0).status == 200
        except urllib3.exceptions.HTTPError:
            return False
