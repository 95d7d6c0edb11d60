"""Where a process listens: on all addresses, of both families where there are both, unless it is told one."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Self

from functions.runtime.settings import integer, read


@dataclass(frozen=True, slots=True)
class Address:
    """An IP address and a port, written as in a URL; port 0 takes a free one. `variable` is what sets the port."""

    host: str
    port: int
    variable: str = "PORT"

    @classmethod
    def load(cls, environ: Mapping[str, str], port: int, *, variable: str = "PORT", host: str = "LISTEN_HOST") -> Self:
        """What the two variables say, or all addresses and `port`; raises SettingsError."""
        found = read(environ, variable, integer(1, 65535), port)
        return cls(read(environ, host, _ip, everywhere()), found, variable)

    @property
    def family(self) -> socket.AddressFamily:
        """AF_INET6 for `::` too, which takes IPv4 as well."""
        return socket.AF_INET6 if ":" in self.host else socket.AF_INET

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def everywhere() -> str:
    """The address that stands for all: `::`, but where that would not be IPv4's as well (RFC 3493 section 5.3)."""
    try:
        with socket.socket(socket.AF_INET6) as probe:
            both = not probe.getsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY)
    except OSError:  # a kernel without IPv6
        both = False
    return "::" if both else "0.0.0.0"  # noqa: S104 - pods are reached from elsewhere


def is_loopback(host: str) -> bool:
    """Whether a peer is on this host; its address may be IPv4's in the form of IPv6 (RFC 4291 section 2.5.5.2)."""
    found = ip_address(host)
    return (getattr(found, "ipv4_mapped", None) or found).is_loopback


def _ip(text: str) -> str:
    try:
        return str(ip_address(text))
    except ValueError:
        raise ValueError("must be an IP address, such as 127.0.0.1 or ::1") from None
