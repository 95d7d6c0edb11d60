"""Pure: the WebApp, as pydantic models from which the CRD is generated; `status_model` has the other half.

`parse` reads a raw object; it gives the same verdict as the API server with our CRD. It is still needed behind the API
server: an object may be older than the CRD that would refuse it (validation ratcheting), and events can be forged.
"""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, ValidationError

from functions.webapp import fields
from functions.webapp.blame import blame
from functions.webapp.fields import Int32, Subdomain
from functions.webapp.part import KeyedBy, Part, Rule, without_nulls
from functions.webapp.pod import EnvVar, ImagePullSecret, PodSecurityContext, Resources, qualified_keys
from functions.webapp.resources import RawObject

__all__ = [
    "EnvVar",
    "ImagePullSecret",
    "PodSecurityContext",
    "Resources",
    "WebApp",
    "WebAppSpec",
    "parse",
]


class WebAppSpec(Part):
    """What is wanted: an image, how many of it, and under which host."""

    image: Annotated[str, Field(min_length=1, max_length=1024, pattern=fields.VISIBLE)] = Field(
        description="Container image, with tag or digest.",
    )
    replicas: Int32 = Field(default=1, description="Number of pods; 0 stops the application and keeps its address.")
    port: Annotated[int, Field(ge=1, le=65535, json_schema_extra={"format": "int32"})] = Field(
        default=80,
        description="Port that the container listens on; the Service listens on it too.",
    )
    host: Subdomain | None = Field(
        default=None,
        description="DNS name under which an Ingress serves the application; without it there is no Ingress.",
    )
    ingress_class_name: Subdomain | None = Field(
        default=None,
        description="IngressClass of the Ingress; the cluster's default where not set. Needs host.",
    )
    tls_secret_name: Subdomain | None = Field(
        default=None,
        description="Secret of type kubernetes.io/tls with the certificate of host. Needs host.",
    )
    env: Annotated[list[EnvVar], KeyedBy("name"), Field(max_length=256)] | None = Field(
        default=None,
        description="Environment variables of the container.",
    )
    resources: Resources = Field(
        default=Resources(
            requests={"cpu": "50m", "memory": "64Mi"},
            limits={"cpu": "500m", "memory": "128Mi"},
        ),
        description="Requests and limits of the container. The default holds only as a whole: what is given is taken"
        " as it is, and {} asks for neither.",
    )
    node_selector: (
        Annotated[
            dict[str, Annotated[str, Field(max_length=63, pattern=fields.LABEL_VALUE)]],
            Field(max_length=64, json_schema_extra={"x-kubernetes-map-type": "atomic"}),
            BeforeValidator(without_nulls),
        ]
        | None
    ) = Field(default=None, description="Labels that a node must have to run the pods.")
    image_pull_secrets: Annotated[list[ImagePullSecret], KeyedBy("name"), Field(max_length=16)] | None = Field(
        default=None,
        description="Secrets with credentials for the registry of the image.",
    )
    security_context: PodSecurityContext | None = Field(
        default=None,
        description="Who the containers run as and what they may do.",
    )
    readiness_path: Annotated[str, Field(max_length=1024, pattern=fields.PATH)] | None = Field(
        default=None,
        description="Path that answers a GET with 2xx or 3xx once a pod is ready; if not set, an open port is enough.",
    )
    paused: bool = Field(default=False, description="Stop writing Deployment, Service and Ingress until this is false.")
    autoscaled: bool = Field(
        default=False,
        description="Leave the Deployment's replicas to an autoscaler that targets the Deployment.",
    )
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel=r"!has(self.host) || !self.host.matches(r'^[0-9.]+$')",
            holds=lambda spec: spec.host is None or not set(spec.host) <= set("0123456789."),
            message="must be a DNS name, not an IP address",
            field="host",
        ),
        Rule(
            cel="!has(self.ingressClassName) || has(self.host)",
            holds=lambda spec: spec.ingress_class_name is None or spec.host is not None,
            message="must not be set without host: set spec.host or remove it",
            field="ingressClassName",
        ),
        Rule(
            cel="!has(self.tlsSecretName) || has(self.host)",
            holds=lambda spec: spec.tls_secret_name is None or spec.host is not None,
            message="must not be set without host: set spec.host or remove it",
            field="tlsSecretName",
        ),
        qualified_keys("nodeSelector", "node_selector"),
    )


class ObjectMeta(Part):
    """The part of `metav1.ObjectMeta` that a WebApp has rules for."""

    name: Annotated[str, Field(max_length=63)]


class WebApp(Part):
    """A web application: one image, served by a Deployment, a Service and, if it has a host, an Ingress."""

    metadata: ObjectMeta
    spec: WebAppSpec = Field(description="What is wanted.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule(
            cel=f"self.metadata.name.matches(r'{fields.NAME}')",
            holds=lambda webapp: fields.matches(fields.NAME, webapp.metadata.name),
            message=f"must be {fields.WORDS[fields.NAME]}",
            field="metadata.name",
        ),
    )


def parse(webapp: RawObject) -> WebAppSpec:
    """Read the raw object's spec, defaults filled in; `InvalidSpec` names the first field that is wrong.

    The name is judged too, since Deployment, Service and Ingress take it over: a Service name is an RFC 1035 label of
    63 characters, and so is the value of the `app` label. Pods need no more room, their names are cut to fit
    (`k8s.io/apiserver/pkg/storage/names`).
    """
    try:
        return WebApp.model_validate(webapp, by_alias=True, by_name=False).spec
    except ValidationError as error:
        raise blame(error) from None
