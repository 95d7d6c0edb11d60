"""Pure: the sidecar as an administrator describes it, and the container that it becomes.

The container says everything about its own security, because it would inherit the Pod's answer to whatever it leaves
out; it passes the built-in `restricted` Pod Security level by itself.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
from typing import Annotated, Any, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic.alias_generators import to_camel

from functions.webapp import fields
from functions.webapp.fields import Quantity

Name = Annotated[str, Field(max_length=63, pattern=fields.NAME)]
Amounts = dict[Annotated[str, Field(pattern=fields.QUALIFIED_NAME)], Quantity]


class TemplateError(Exception):
    """The template cannot be meant; the message names each field and what is wrong with it."""


class _Part(BaseModel):
    model_config = ConfigDict(alias_generator=to_camel, extra="forbid", frozen=True, strict=True)


class Resources(_Part):
    """Both sides, so that quotas on either accept the Pod."""

    requests: Amounts = Field(default_factory=lambda: {"cpu": "5m", "memory": "16Mi"})
    limits: Amounts = Field(default_factory=lambda: {"cpu": "50m", "memory": "32Mi"})


class Variable(_Part):
    """One environment variable."""

    name: Annotated[str, Field(max_length=253, pattern=fields.ENV_NAME)]
    value: str


class Port(_Part):
    """One port that the sidecar opens; on the host's network it would be the host's."""

    name: Annotated[str, Field(max_length=15, pattern=fields.NAME)]
    container_port: Annotated[int, Field(ge=1, le=65535)]


class Template(_Part):
    """What is injected. `log_directory` is where applications write; the sidecar sees it read-only at the same path."""

    name: Name = "log-sidecar"
    image: Annotated[str, Field(max_length=1024, pattern=fields.VISIBLE)]
    command: Annotated[list[str], Field(min_length=1)]
    args: list[str] = []
    env: list[Variable] = []
    ports: list[Port] = []
    resources: Resources = Resources()
    log_directory: Annotated[str, Field(max_length=1024, pattern=fields.PATH)] = "/var/log"
    volume_name: Name = "log-volume"
    volume_size_limit: Quantity = "64Mi"
    run_as_user: Annotated[int, Field(ge=1, le=fields.MAX_INT32)] = 65532

    @field_validator("log_directory")
    @classmethod
    def _is_a_directory(cls, path: str) -> str:
        if posixpath.normpath(path) != path or path == "/":
            raise ValueError("must be an absolute path below / without '..', '//' or a '/' at its end")
        return path

    @classmethod
    def of(cls, raw: object) -> Self:
        """Read from YAML or JSON data; raises TemplateError."""
        try:
            return cls.model_validate(raw)
        except ValidationError as error:
            told = (f"{'.'.join(map(str, each['loc'])) or 'template'}: {each['msg']}" for each in error.errors())
            raise TemplateError("; ".join(told)) from None

    @property
    def digest(self) -> str:
        """A short name for exactly this template, for the annotation of a Pod that it was injected into."""
        return hashlib.sha256(json.dumps(self.model_dump(), sort_keys=True).encode()).hexdigest()[:12]

    def container(self, mount: dict[str, Any], *, native: bool) -> dict[str, Any]:
        """The container; a native sidecar is an init container that goes on (KEP-753)."""
        found: dict[str, Any] = {
            "name": self.name,
            "image": self.image,
            "command": self.command,
            "args": self.args,
            "env": [each.model_dump() for each in self.env],
            "ports": [{**each.model_dump(by_alias=True), "protocol": "TCP"} for each in self.ports],
            "resources": self.resources.model_dump(),
            "volumeMounts": [mount],
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": self.run_as_user,
                "runAsGroup": self.run_as_user,
                "privileged": False,
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
                "seccompProfile": {"type": "RuntimeDefault"},
            },
        }
        return {
            **{key: value for key, value in found.items() if value != []},
            **({"restartPolicy": "Always"} if native else {}),
        }
