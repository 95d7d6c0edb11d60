"""`webapp certs`: certificates of the servers that kube-apiserver calls."""

from __future__ import annotations

from typing import Annotated

import typer

from functions.webapp.resources import SYSTEM_NAMESPACE


def certs(
    services: Annotated[list[str] | None, typer.Argument(help="Services; those the project ships by default.")] = None,
    *,
    namespace: Annotated[str, typer.Option("--namespace", "-n", help="Where they live.")] = SYSTEM_NAMESPACE,
    rotate: Annotated[bool, typer.Option("--rotate", help="Make a new authority now; both are trusted.")] = False,
) -> None:
    """Make or renew what is due: authority, server certificates, and every caBundle that must trust them.

    Run it again at any time, say daily: what is good stays. It needs a kubeconfig that may write Secrets in the
    namespace and webhook configurations.
    """
    import os

    from functions.certs.command import SERVICES, Run
    from functions.certs.store import Store
    from functions.runtime import credentials, kube, telemetry

    try:
        who = credentials.load(os.environ)
    except credentials.CredentialsError as error:
        raise typer.BadParameter(str(error)) from error
    tracer = telemetry.tracer(telemetry.provider("webapp-certs", os.environ))
    api = kube.Api(who, tracer, connections=1, user_agent="webapp-certs")
    done = Run(Store(api, namespace), namespace, services or SERVICES).certify(rotate=rotate)
    typer.echo("\n".join(done or ["nothing is due"]))
