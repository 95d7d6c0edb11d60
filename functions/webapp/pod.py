"""Pure: the pieces of a pod that a WebApp may set, typed to the leaves as in `core/v1`."""

from __future__ import annotations

from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, ConfigDict, Field

from functions.webapp import fields
from functions.webapp.fields import Quantity, Subdomain, UnixId
from functions.webapp.part import Part, Rule, without_nulls

_ATOMIC = ConfigDict(json_schema_extra={"x-kubernetes-map-type": "atomic"})

KeyName = Annotated[str, Field(min_length=1, max_length=253, pattern=fields.KEY)]
Quantities = Annotated[dict[str, Quantity], Field(max_length=16), BeforeValidator(without_nulls)]


def _qualified(names: dict[str, str] | None) -> bool:
    return all(fields.matches(fields.QUALIFIED_NAME, name) for name in names or ())


def qualified_keys(field: str, attribute: str) -> Rule:
    """Ask that the keys of a map are qualified names; structural schemas have no `propertyNames` to say it with."""
    return Rule(
        cel=f"!has(self.{field}) || self.{field}.all(key, key.matches(r'{fields.QUALIFIED_NAME}'))",
        holds=lambda part: _qualified(getattr(part, attribute)),
        message=f"every key must be {fields.WORDS[fields.QUALIFIED_NAME]}",
        field=field,
    )


class Resources(Part):
    """What the container asks for and what it may use at most."""

    requests: Quantities | None = Field(
        default=None,
        description="What the scheduler reserves, by resource: cpu, memory, ephemeral-storage or an extended resource.",
    )
    limits: Quantities | None = Field(
        default=None,
        description="What the container may use at most, by resource. Must not be below the request.",
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        qualified_keys("requests", "requests"),
        qualified_keys("limits", "limits"),
    )


class ConfigMapKeyRef(Part):
    """One key of a ConfigMap in the namespace of the WebApp."""

    model_config = _ATOMIC

    name: Subdomain = Field(description="Name of the ConfigMap.")
    key: KeyName = Field(description="Key inside the ConfigMap.")
    optional: bool | None = Field(
        default=None, description="Start the container even if the ConfigMap or key is missing."
    )


class SecretKeyRef(Part):
    """One key of a Secret in the namespace of the WebApp."""

    model_config = _ATOMIC

    name: Subdomain = Field(description="Name of the Secret.")
    key: KeyName = Field(description="Key inside the Secret.")
    optional: bool | None = Field(default=None, description="Start the container even if the Secret or key is missing.")


class FieldRef(Part):
    """One field of the pod itself."""

    model_config = _ATOMIC

    api_version: Literal["v1"] | None = Field(
        default=None, description="Version of the schema that fieldPath is read in."
    )
    field_path: Annotated[str, Field(max_length=400, pattern=fields.POD_FIELD)] = Field(
        description="Path of the field, such as metadata.name, metadata.labels['app'] or status.podIP.",
    )


class ResourceFieldRef(Part):
    """One request or limit of a container of the pod."""

    model_config = _ATOMIC

    container_name: Annotated[str, Field(max_length=63, pattern=fields.NAME)] | None = Field(
        default=None,
        description="Name of the container; the container of the WebApp where it is not set.",
    )
    resource: Annotated[str, Field(max_length=63, pattern=fields.CONTAINER_RESOURCE)] = Field(
        description="The resource, such as limits.memory or requests.cpu.",
    )
    divisor: Quantity | None = Field(
        default=None, description="Unit in which the amount is given, such as 1Mi; 1 by default."
    )


class EnvVarSource(Part):
    """Where the value of a variable comes from: exactly one of the four."""

    config_map_key_ref: ConfigMapKeyRef | None = Field(default=None, description="A key of a ConfigMap.")
    secret_key_ref: SecretKeyRef | None = Field(default=None, description="A key of a Secret.")
    field_ref: FieldRef | None = Field(default=None, description="A field of the pod.")
    resource_field_ref: ResourceFieldRef | None = Field(default=None, description="A request or limit of a container.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="[has(self.configMapKeyRef), has(self.secretKeyRef), has(self.fieldRef), has(self.resourceFieldRef)]"
            ".filter(given, given).size() == 1",
            holds=lambda source: len(source.dump()) == 1,
            message="must have exactly one of configMapKeyRef, secretKeyRef, fieldRef and resourceFieldRef",
        ),
    )


class EnvVar(Part):
    """One environment variable of the container; empty where neither value nor valueFrom is set."""

    name: Annotated[str, Field(min_length=1, max_length=253, pattern=fields.ENV_NAME)] = Field(
        description="Name of the variable; each name at most once.",
    )
    value: Annotated[str, Field(max_length=32768)] | None = Field(
        default=None,
        description="The value; $(NAME) refers to a variable before it in the list.",
    )
    value_from: EnvVarSource | None = Field(default=None, description="Where the value comes from instead of value.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="!(has(self.value) && has(self.valueFrom))",
            holds=lambda env: env.value is None or env.value_from is None,
            message="must not have both value and valueFrom: remove one of the two",
        ),
    )


class ImagePullSecret(Part):
    """A Secret of type kubernetes.io/dockerconfigjson in the namespace of the WebApp."""

    name: Subdomain = Field(description="Name of the Secret.")


class SeccompProfile(Part):
    """Which system calls the containers may make."""

    type: Literal["RuntimeDefault", "Unconfined", "Localhost"] = Field(
        description="RuntimeDefault, Unconfined, or Localhost for a profile file on the node.",
    )
    localhost_profile: Annotated[str, Field(min_length=1, max_length=1024)] | None = Field(
        default=None,
        description="Path of the profile below the kubelet's seccomp directory. Only with type Localhost.",
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel="has(self.localhostProfile) == (self.type == 'Localhost')",
            holds=lambda profile: (profile.localhost_profile is not None) == (profile.type == "Localhost"),
            message="must be set if type is Localhost, and only then",
            field="localhostProfile",
        ),
    )


class PodSecurityContext(Part):
    """Who the containers run as and what they may do."""

    run_as_non_root: bool | None = Field(
        default=None, description="Refuse to start a container that would run as root."
    )
    run_as_user: UnixId | None = Field(default=None, description="User id of the processes; the image's where not set.")
    run_as_group: UnixId | None = Field(default=None, description="Primary group id of the processes.")
    fs_group: UnixId | None = Field(default=None, description="Group id that owns the volumes of the pod.")
    fs_group_change_policy: Literal["OnRootMismatch", "Always"] | None = Field(
        default=None,
        description="When the ownership of volumes is changed to fsGroup: OnRootMismatch or Always.",
    )
    supplemental_groups: (
        Annotated[
            list[UnixId],
            Field(max_length=64, json_schema_extra={"x-kubernetes-list-type": "atomic"}),
        ]
        | None
    ) = Field(default=None, description="Further group ids of the processes.")
    seccomp_profile: SeccompProfile | None = Field(
        default=None, description="Which system calls the containers may make."
    )
