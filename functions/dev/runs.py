"""The runs of one WebApp out of the reconcile history, as the cluster's aggregated API serves them."""

from __future__ import annotations

import os
from contextlib import closing
from typing import Any

from opentelemetry.trace import NoOpTracer

from functions.history.record import resource
from functions.runtime import credentials, kube
from functions.webapp.errors import ApiError, NotFound, WebAppError

Run = dict[str, Any]
"""One Reconcile as a raw Kubernetes object."""


class NoHistory(WebAppError):
    """The history cannot be read there; the message says why, and what to do."""

    error_type = "no_history"


def newest(group: str, namespace: str, webapp: str, limit: int) -> list[Run]:
    """So many of them, the newest first, from the cluster of the current kubeconfig. Raises NoHistory."""
    wanted = resource(group)
    params = (("fieldSelector", f"spec.webAppRef.name={webapp}"), ("limit", str(limit)))
    try:
        with closing(kube.Api(credentials.load(os.environ), NoOpTracer(), connections=1, user_agent="webapp")) as api:
            return list(api.send(kube.Call("GET", wanted, namespace, params=params))["items"])
    except credentials.CredentialsError as error:
        raise NoHistory(f"no cluster to ask: {error}; or read the database: --database URL") from error
    except NotFound as error:
        told = f"{wanted.plural}.{wanted.group} are not served by this cluster"
        raise NoHistory(f"{told}: install knative/extensions/history, or read the database: --database URL") from error
    except ApiError as error:
        raise NoHistory(f"the cluster cannot tell the history: {error}") from error
