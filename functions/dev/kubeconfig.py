"""Kubeconfig files with everything inside them, so that they can be copied anywhere."""

import base64
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from functions.dev.certificates import KeyPair


def write(
    path: Path, cluster: Mapping[str, Any], user: Mapping[str, Any], name: str, namespace: str = "default"
) -> Path:
    """Write a kubeconfig of one context for user `name`, readable by its owner alone; gives `path` back.

    `cluster` and `user` are what kubeconfigs hold under those words (server and authority; certificate or token).
    JSON is YAML, so every client reads it.
    """
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "webapp", "cluster": cluster}],
        "users": [{"name": name, "user": user}],
        "contexts": [{"name": "webapp", "context": {"cluster": "webapp", "user": name, "namespace": namespace}}],
        "current-context": "webapp",
    }
    path.touch(mode=0o600)
    path.write_text(json.dumps(content))
    return path


def cluster(server: str, authority: Path) -> dict[str, Any]:
    """The cluster entry for a URL and the path of the certificate that signed the server's."""
    return {"server": server, "certificate-authority-data": _inline(authority)}


def certificate_user(pair: KeyPair) -> dict[str, Any]:
    """The user entry for a client certificate."""
    return {"client-certificate-data": _inline(pair.certificate), "client-key-data": _inline(pair.key)}


def _inline(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
