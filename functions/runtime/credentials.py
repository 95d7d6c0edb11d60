"""How to reach the API server: the pod's ServiceAccount in a cluster, a kubeconfig elsewhere.

The `kubernetes` package is imported for kubeconfigs only: in a cluster it would cost more memory than the whole bridge.
"""

from __future__ import annotations

import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from functions.runtime.rotation import RotatingFile

SERVICE_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")


class CredentialsError(Exception):
    """No way to the API server was found; the message names the cures."""


@dataclass(frozen=True)
class Credentials:
    """Where the API server is and who we are; `tls` says how they know each other, see `context`."""

    server: str
    authorization: Callable[[], str | None]
    tls: Mapping[str, Any] = field(default_factory=dict)


def context(tls: Mapping[str, Any]) -> ssl.SSLContext:
    """A TLS context, such as for `Credentials.tls`, that judges authorities as Kubernetes' own clients do.

    `cert_reqs` is CERT_REQUIRED unless given, `ca_certs` (the system's authorities if not given), `cert_file` and
    `key_file` are paths of PEM files.

    Python 3.13 became stricter (VERIFY_X509_STRICT, RFC 5280) than Go's crypto/x509, and so refuses the authorities of
    many clusters, which lack a key usage or a key identifier.
    """
    made = ssl.create_default_context(cafile=tls.get("ca_certs"))
    made.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if tls.get("cert_reqs") == "CERT_NONE":
        made.check_hostname = False
        made.verify_mode = ssl.CERT_NONE
    if "cert_file" in tls:
        made.load_cert_chain(tls["cert_file"], tls.get("key_file"))
    return made


def load(environ: Mapping[str, str], *, context: str | None = None) -> Credentials:
    """Credentials of this process; raises CredentialsError.

    `KUBECONFIG` wins; then the ServiceAccount of a pod (`WEBAPP_SERVICEACCOUNT_DIR` for a projected token volume);
    then the default kubeconfig.
    """
    host = environ.get("KUBERNETES_SERVICE_HOST")
    if host and not environ.get("KUBECONFIG"):
        port = environ.get("KUBERNETES_SERVICE_PORT", "443")
        folder = Path(environ.get("WEBAPP_SERVICEACCOUNT_DIR") or SERVICE_ACCOUNT)
        return _in_cluster(f"https://[{host}]:{port}" if ":" in host else f"https://{host}:{port}", folder)
    return _from_kubeconfig(environ.get("KUBECONFIG") or None, context)


def _in_cluster(server: str, folder: Path) -> Credentials:
    token = RotatingFile(folder / "token")
    if not token.read():
        raise CredentialsError(
            f"{folder / 'token'} cannot be read: mount the ServiceAccount token, or set WEBAPP_SERVICEACCOUNT_DIR"
        )
    return Credentials(
        server, lambda: f"Bearer {token.read()}", {"cert_reqs": "CERT_REQUIRED", "ca_certs": str(folder / "ca.crt")}
    )


def _from_kubeconfig(path: str | None, context: str | None) -> Credentials:
    try:
        from kubernetes import client, config  # noqa: PLC0415 - 19 MiB that a pod must not pay
    except ModuleNotFoundError as error:
        raise CredentialsError(
            "a kubeconfig needs the kubernetes package, which the image leaves out: run as a pod, or outside the image"
        ) from error

    found = client.Configuration()
    try:
        load_kube_config: Callable[..., None] = config.load_kube_config
        load_kube_config(config_file=path, context=context, client_configuration=found)
    except Exception as error:  # the package lets through whatever its YAML reader and a wrong shape raise
        where = path or os.path.expanduser("~/.kube/config")  # noqa: PTH111 - as kubectl spells it
        raise CredentialsError(f"{where}: {error}; set KUBECONFIG to a kubeconfig that kubectl accepts") from error
    tls: dict[str, Any] = {
        "cert_reqs": "CERT_REQUIRED" if found.verify_ssl else "CERT_NONE",
        "ca_certs": found.ssl_ca_cert,
        "cert_file": found.cert_file,
        "key_file": found.key_file,
        "server_hostname": found.tls_server_name,
    }
    tls = {name: value for name, value in tls.items() if value}
    if not found.host.startswith("https"):
        tls = {}
    return Credentials(found.host, lambda: found.get_api_key_with_prefix("BearerToken", alias="authorization"), tls)
