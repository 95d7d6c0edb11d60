"""The authentication webhook's environment as one frozen object."""

from __future__ import annotations

import ipaddress
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from functions.authn.breaker import Rules
from functions.authn.cache import Spans
from functions.authn.claims import RESERVED, ClaimMap
from functions.authn.gate import Limits
from functions.authn.limits import Rate
from functions.runtime.settings import SettingsError, integer, names, read, seconds, share, switch

CLUSTER_ISSUERS = (
    "https://kubernetes.default.svc",
    "https://kubernetes.default.svc.cluster.local",
    "kubernetes/serviceaccount",
)
"""Issuers of ServiceAccount tokens: kubeadm's, the default of many distributions, and the legacy one."""


@dataclass(frozen=True)
class ProviderSettings:
    """How the provider is reached; which of the fields are needed depends on `profile` and `client_auth`."""

    url: str
    profile: str = "introspection"
    ca: Path | None = None
    client: str = ""
    client_auth: str = "client_secret_basic"
    secret: Path | None = None
    key: Path | None = None
    key_id: str = ""
    assertion_audience: str = ""
    seconds: float = 2.0

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsError."""
        url = read(environ, "AUTHN_PROVIDER_URL", _url, "")
        if not url:
            raise SettingsError(
                "AUTHN_PROVIDER_URL is not set: name the introspection endpoint, or Keystone's base URL"
            )
        found = cls(
            url=url,
            profile=read(environ, "AUTHN_PROVIDER", _one_of("introspection", "keystone"), cls.profile),
            ca=read(environ, "AUTHN_PROVIDER_CA_FILE", Path, cls.ca),
            client=read(environ, "AUTHN_CLIENT_ID", str, cls.client),
            client_auth=read(
                environ,
                "AUTHN_CLIENT_AUTH",
                _one_of("client_secret_basic", "private_key_jwt", "none"),
                cls.client_auth,
            ),
            secret=read(environ, "AUTHN_CLIENT_SECRET_FILE", Path, cls.secret),
            key=read(environ, "AUTHN_CLIENT_KEY_FILE", Path, cls.key),
            key_id=read(environ, "AUTHN_CLIENT_KEY_ID", str, cls.key_id),
            assertion_audience=read(environ, "AUTHN_CLIENT_ASSERTION_AUDIENCE", str, url),
            seconds=read(environ, "AUTHN_CALL_SECONDS", seconds(0.1, 10), cls.seconds),
        )
        found.check()
        return found

    def check(self) -> None:
        """Raises SettingsError for a part that is missing."""
        if self.ca and not self.ca.is_file():
            raise SettingsError(
                f"AUTHN_PROVIDER_CA_FILE={str(self.ca)!r}: is not a file; name the provider's PEM bundle"
            )
        if self.profile == "introspection" and self.client_auth == "none":
            return
        if not self.client:
            raise SettingsError("AUTHN_CLIENT_ID is not set: name this webhook's client, or AUTHN_CLIENT_AUTH=none")
        if self.profile == "introspection" and self.client_auth == "private_key_jwt":
            if self.key is None:
                raise SettingsError("AUTHN_CLIENT_KEY_FILE is not set: private_key_jwt needs a PEM private key")
        elif self.secret is None:
            raise SettingsError("AUTHN_CLIENT_SECRET_FILE is not set: name the file that holds the client's secret")


@dataclass(frozen=True)
class Settings:
    """Read once at start; the defaults fit one of two replicas."""

    provider: ProviderSettings
    caller_names: tuple[str, ...] = ()
    caller_token: Path | None = None
    audiences: tuple[str, ...] = ()
    audience_required: bool = True
    issuers: tuple[str, ...] = CLUSTER_ISSUERS
    mapping: ClaimMap = field(default_factory=ClaimMap)
    limits: Limits = field(default_factory=Limits)
    patience: float = 3.0

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Self:
        """Raises SettingsError, which names the variable, its value and what would be right."""
        provider = ProviderSettings.load(environ)
        found = cls(
            provider=provider,
            caller_names=read(environ, "AUTHN_CALLER_NAMES", names, cls.caller_names),
            caller_token=read(environ, "AUTHN_CALLER_TOKEN_FILE", Path, cls.caller_token),
            audiences=read(environ, "AUTHN_AUDIENCES", names, cls.audiences),
            audience_required=read(environ, "AUTHN_REQUIRE_AUDIENCE", switch, provider.profile != "keystone"),
            issuers=read(environ, "AUTHN_CLUSTER_ISSUERS", names, cls.issuers),
            mapping=_mapping(environ),
            limits=_limits(environ),
            patience=read(environ, "AUTHN_TOTAL_SECONDS", seconds(0.1, 25), cls.patience),
        )
        if found.caller_names and not environ.get("TLS_CLIENT_CA_FILE", "").strip():
            raise SettingsError("AUTHN_CALLER_NAMES needs TLS_CLIENT_CA_FILE: the authority of the API server's client")
        if not found.caller_names and found.caller_token is None:
            raise SettingsError(
                "nobody may call: set AUTHN_CALLER_NAMES to the common name in the API server's webhook kubeconfig, "
                "or AUTHN_CALLER_TOKEN_FILE to a file with its bearer token"
            )
        return found


def _mapping(environ: Mapping[str, str]) -> ClaimMap:
    return ClaimMap(
        username=read(environ, "AUTHN_USERNAME_CLAIM", str, ClaimMap.username),
        username_prefix=read(environ, "AUTHN_USERNAME_PREFIX", _prefix, ClaimMap.username_prefix),
        groups=read(environ, "AUTHN_GROUPS_CLAIM", str, ClaimMap.groups),
        groups_prefix=read(environ, "AUTHN_GROUPS_PREFIX", _prefix, ClaimMap.groups_prefix),
        uid=read(environ, "AUTHN_UID_CLAIM", str, ClaimMap.uid),
        extra=read(environ, "AUTHN_EXTRA_CLAIMS", _extra, {}),
    )


def _limits(environ: Mapping[str, str]) -> Limits:
    rules, spans, limits = Rules(), Spans(), Limits()
    return Limits(
        rules=Rules(
            window=read(environ, "AUTHN_BREAKER_WINDOW_SECONDS", seconds(1, 600), rules.window),
            calls=read(environ, "AUTHN_BREAKER_CALLS", integer(1, 10_000), rules.calls),
            share=read(environ, "AUTHN_BREAKER_SHARE", share, rules.share),
            run=read(environ, "AUTHN_BREAKER_RUN", integer(1, 1000), rules.run),
            open_first=read(environ, "AUTHN_BREAKER_OPEN_SECONDS", seconds(0.1, 600), rules.open_first),
            open_longest=read(environ, "AUTHN_BREAKER_OPEN_MAX_SECONDS", seconds(0.1, 3600), rules.open_longest),
            probes=read(environ, "AUTHN_BREAKER_PROBES", integer(1, 100), rules.probes),
        ),
        spans=Spans(
            good=read(environ, "AUTHN_CACHE_SECONDS", seconds(0, 3600), spans.good),
            bad=read(environ, "AUTHN_CACHE_BAD_SECONDS", seconds(0, 3600), spans.bad),
            grace=read(environ, "AUTHN_GRACE_SECONDS", seconds(0, 600), spans.grace),
            entries=read(environ, "AUTHN_CACHE_ENTRIES", integer(1, 1_000_000), spans.entries),
        ),
        known=_rate(environ, "KNOWN", limits.known),
        strangers=_rate(environ, "STRANGER", limits.strangers),
        calls=(calls := read(environ, "AUTHN_CALLS", integer(2, 128), limits.calls)),
        stranger_calls=max(1, calls // 2),
        waiters=read(environ, "AUTHN_WAITERS", integer(0, 200), limits.waiters),
        slow=read(environ, "AUTHN_SLOW_SECONDS", seconds(0.01, 10), limits.slow),
    )


def _rate(environ: Mapping[str, str], who: str, default: Rate) -> Rate:
    return Rate(
        read(environ, f"AUTHN_{who}_RATE", _number(0.1, 100_000), default.each_second),
        read(environ, f"AUTHN_{who}_BURST", _number(1, 100_000), default.burst),
    )


def _number(low: float, high: float) -> Callable[[str], float]:
    def cast(text: str) -> float:
        found = float(text) if text.replace(".", "", 1).isdigit() else -1.0
        if not low <= found <= high:
            raise ValueError(f"must be a number from {low:g} to {high:g}")
        return found

    return cast


def _one_of(*choices: str) -> Callable[[str], str]:
    def cast(text: str) -> str:
        if text not in choices:
            raise ValueError(f"must be {' or '.join(choices)}")
        return text

    return cast


def _url(text: str) -> str:
    where = urlsplit(text)
    if where.username or where.password or where.query or where.fragment:
        raise ValueError("must hold neither user, query nor fragment; secrets come from files")
    if where.hostname and (where.scheme == "https" or (where.scheme == "http" and _is_loopback(where.hostname))):
        return text
    raise ValueError("must be an https URL; http is for loopback addresses alone")


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _prefix(text: str) -> str:
    """`-` is no prefix, as in kube-apiserver's --oidc-username-prefix."""
    if text.startswith(RESERVED):
        raise ValueError(f"must not begin with {RESERVED}, which is Kubernetes' own; use - for no prefix")
    return "" if text == "-" else text


def _extra(text: str) -> dict[str, str]:
    found = dict(part.split("=", 1) for part in names(text) if "=" in part)
    if len(found) != len(names(text)) or any(key != key.lower() or "/" not in key for key in found):
        raise ValueError("must be pairs such as example.com/client=client_id, keys in lower case and with a domain")
    return found
