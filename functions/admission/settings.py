"""The admission webhooks' environment and sidecar template as one frozen object."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from functions.admission.guard import Guard
from functions.admission.inject import Injector, Mode
from functions.admission.template import Template, TemplateError
from functions.runtime.settings import SettingsError, read, switch
from functions.webapp.resources import DEFAULT_GROUP

BODY_LIMIT = 8 * 1024 * 1024
"""An object and its predecessor: etcd holds 1.5 MiB of each, and JSON is longer than what it holds."""

_TEMPLATE = Path("/etc/webapp/sidecar/sidecar.yaml")


@dataclass(frozen=True)
class Settings:
    """Read once at start; a changed template needs a new Pod, which a ConfigMap with a hashed name brings about."""

    injector: Injector
    guard: Guard

    @classmethod
    def load(cls, environ: Mapping[str, str]) -> Settings:
        """Raises SettingsError, which names the variable or the field of the template, and what would be right."""
        group = read(environ, "WEBAPP_API_GROUP", str, DEFAULT_GROUP)
        template = _template(read(environ, "SIDECAR_TEMPLATE", Path, _TEMPLATE))
        mode = read(environ, "SIDECAR_MODE", _mode, Mode.NATIVE)
        guard = Guard(
            group,
            strict=read(environ, "GUARD_STRICT", switch, Guard.strict),
            deny_root_user=read(environ, "GUARD_DENY_ROOT_USER", switch, Guard.deny_root_user),
            warn_workloads=read(environ, "GUARD_WARN_WORKLOADS", switch, Guard.warn_workloads),
        )
        return cls(Injector(template, f"{group}/sidecar", mode), guard)


def _template(path: Path) -> Template:
    try:
        return Template.of(yaml.safe_load(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise SettingsError(f"SIDECAR_TEMPLATE={str(path)!r}: {error.strerror}; name a readable YAML file") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise SettingsError(f"SIDECAR_TEMPLATE={str(path)!r}: is not YAML: {error}") from error
    except TemplateError as error:
        raise SettingsError(f"SIDECAR_TEMPLATE={str(path)!r}: {error}") from error


def _mode(text: str) -> Mode:
    if text not in set(Mode):
        raise ValueError("must be native or classic")
    return Mode(text)
