"""An aggregated API under gunicorn: trust settled before it listens, and kept up with while it serves."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from opentelemetry.trace import Tracer
from prometheus_client import CollectorRegistry

from functions.aggregation import terms
from functions.aggregation.authorization import Action, Authorizer
from functions.aggregation.fields import SETTINGS
from functions.aggregation.frontproxy import FrontProxy
from functions.aggregation.requestheader import RequestHeader, RequestHeaderError
from functions.aggregation.user import User
from functions.runtime import credentials, extension, kube, telemetry
from functions.runtime.server import Served
from functions.runtime.settings import SettingsError
from functions.runtime.tls import Profile


@dataclass(frozen=True)
class Parts:
    """What an app is made of; both functions raise `status.StatusError`."""

    authenticate: Callable[[Mapping[str, Any]], User]
    authorize: Callable[[User, Action], None]
    tracer: Tracer
    registry: CollectorRegistry


def serve(service: str, make: Callable[[Parts], Served], profile: Profile, environ: Mapping[str, str]) -> None:
    """Serve until SIGTERM; `make` is called in the worker. Raises SettingsError where nobody could be trusted."""
    try:
        who = credentials.load(environ)
        trusted = terms.Terms(_first_terms(service, who))
    except (credentials.CredentialsError, RequestHeaderError) as error:
        raise SettingsError(str(error)) from error

    def made(registry: CollectorRegistry) -> Served:
        provider = telemetry.provider(service, environ)
        tracer = telemetry.tracer(provider)
        api = kube.Api(who, tracer, connections=profile.threads, user_agent=service)
        trusted.follow(api)
        served = make(Parts(FrontProxy(trusted).authenticate, Authorizer(api).authorize, tracer, registry))

        def close() -> None:
            trusted.close()
            served.close()
            api.close()
            provider.shutdown()

        return Served(served.app, close)

    extension.serve(made, replace(profile, client_authorities=trusted.authorities), more=SETTINGS)


def _first_terms(service: str, who: credentials.Credentials) -> RequestHeader:
    """Read before the worker is forked: threads and connections of now would not be its own."""
    provider = telemetry.provider(service, {})
    api = kube.Api(who, telemetry.tracer(provider), connections=1, user_agent=service)
    try:
        return terms.load(api)
    finally:
        api.close()
