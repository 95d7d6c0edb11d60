"""`python -m functions.authn`: the authentication webhook under gunicorn with its own TLS."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping

from opentelemetry.trace import Tracer
from prometheus_client import CollectorRegistry

from functions.authn.app import Webhook, create_app
from functions.authn.audience import Audiences
from functions.authn.authenticator import Authenticator, Policy
from functions.authn.callers import Callers
from functions.authn.credential import ClientSecret, Credential, Nothing, PrivateKeyJwt, SecretFile
from functions.authn.exchange import Exchange
from functions.authn.introspection import Introspection
from functions.authn.keystone import Keystone
from functions.authn.measures import Measures
from functions.authn.provider import Provider
from functions.authn.settings import ProviderSettings, Settings
from functions.runtime import extension, logs, telemetry
from functions.runtime.server import Served
from functions.runtime.settings import SettingsError
from functions.runtime.tls import Profile

SPARE_THREADS = 8
"""For cache hits and refusals while every place for calls and waiting is taken."""


def main() -> None:
    """Read the settings, or say what is wrong with them, and serve."""
    logs.configure(os.environ)
    try:
        settings = Settings.load(os.environ)
        profile = serving_profile(os.environ, settings)
        callers = Callers(settings.caller_names, SecretFile(settings.caller_token) if settings.caller_token else None)
        credential = _credential(settings.provider)
    except SettingsError as error:
        sys.exit(f"functions.authn: {error}")

    def make(registry: CollectorRegistry) -> Served:
        provider = telemetry.provider("webapp-authn", os.environ)
        tracer = telemetry.tracer(provider)
        measures = Measures(registry)
        policy = Policy(settings.limits, settings.mapping, settings.issuers, patience=settings.patience)
        authenticator = Authenticator(policy, _provider(settings, credential, tracer), measures)
        authenticator.warm_up()
        audiences = Audiences(settings.audiences, settings.audience_required)
        webhook = Webhook(authenticator, callers, audiences, measures, tracer)

        def close() -> None:
            authenticator.close()
            provider.shutdown()

        return Served(create_app(webhook), close)

    extension.serve(make, profile)


def serving_profile(environ: Mapping[str, str], settings: Settings) -> Profile:
    """The TLS profile, with a thread for each request that may wait and some to spare."""
    needed = settings.limits.calls + settings.limits.waiters + SPARE_THREADS
    profile = Profile.load({**environ, "SERVER_THREADS": environ.get("SERVER_THREADS") or str(needed)})
    if profile.threads < needed:
        raise SettingsError(
            f"SERVER_THREADS={profile.threads}: must be at least {needed}, which is AUTHN_CALLS and AUTHN_WAITERS and "
            f"{SPARE_THREADS} to spare; raise it or lower them"
        )
    return profile


def _credential(settings: ProviderSettings) -> Credential | SecretFile:
    if settings.profile == "keystone" and settings.secret:
        return SecretFile(settings.secret)
    if settings.client_auth == "private_key_jwt" and settings.key:
        key = SecretFile(settings.key)
        made = PrivateKeyJwt(settings.client, key, settings.key_id, settings.assertion_audience)
        made.assertion(0.0)  # a key that cannot sign is told now
        return made
    if settings.client_auth == "client_secret_basic" and settings.secret:
        return ClientSecret(settings.client, SecretFile(settings.secret))
    return Nothing()


def _provider(settings: Settings, credential: Credential | SecretFile, tracer: Tracer) -> Provider:
    found = settings.provider
    exchange = Exchange(found.url, found.ca, tracer, seconds=found.seconds, connections=settings.limits.calls)
    if isinstance(credential, SecretFile):
        return Keystone(exchange, found.client, credential)
    return Introspection(exchange, credential)


if __name__ == "__main__":
    main()
