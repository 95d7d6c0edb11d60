"""Pure: the status of a WebApp, as pydantic models from which the CRD is generated.

Nothing is read by them: a status may be of any shape (`functions.webapp.status`), so no function has to load them.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from functions.webapp import fields
from functions.webapp.fields import Int32, Int64
from functions.webapp.part import KeyedBy, Part


class Condition(Part):
    """One aspect of the state, in the form of `metav1.Condition`."""

    type: Annotated[str, Field(min_length=1, max_length=316, pattern=fields.QUALIFIED_NAME)] = Field(
        description="The aspect: Ready, Progressing or Degraded.",
    )
    status: Literal["True", "False", "Unknown"] = Field(description="True, False or Unknown.")
    reason: Annotated[str, Field(min_length=1, max_length=1024, pattern=fields.CONDITION_REASON)] = Field(
        description="Why, in one CamelCase word for programs.",
    )
    message: Annotated[str, Field(max_length=32768)] = Field(description="Why, in a sentence for people.")
    last_transition_time: Annotated[str, Field(max_length=64, json_schema_extra={"format": "date-time"})] = Field(
        description="When status last changed.",
    )
    observed_generation: Int64 | None = Field(
        default=None,
        description="The metadata.generation that the condition speaks of.",
    )


class WebAppStatus(Part):
    """What is: everything here can be found out again by looking."""

    observed_generation: Int64 | None = Field(default=None, description="The metadata.generation last acted on.")
    replicas: Int32 | None = Field(default=None, description="Pods that exist.")
    ready_replicas: Int32 | None = Field(default=None, description="Pods that are ready.")
    updated_replicas: Int32 | None = Field(default=None, description="Pods that run the newest template.")
    available_replicas: Int32 | None = Field(default=None, description="Pods that have been ready for long enough.")
    selector: Annotated[str, Field(max_length=1024)] | None = Field(
        default=None,
        description="Label selector of the pods, as text; the scale subresource hands it to autoscalers.",
    )
    url: Annotated[str, Field(max_length=2048)] | None = Field(default=None, description="Where the host is served.")
    conditions: Annotated[list[Condition], KeyedBy("type"), Field(max_length=16)] | None = Field(
        default=None,
        description="Ready, Progressing and Degraded.",
    )
