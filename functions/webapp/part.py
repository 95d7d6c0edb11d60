"""Pure: what every object inside a WebApp has in common: strict reading, camelCase names, rules across fields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler, GetJsonSchemaHandler, model_validator
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule across fields, said twice side by side: in CEL to the API server, in Python to the function.

    `field` is the camelCase path below the object that is blamed, "" for the object itself. `message` says what must
    hold; it is the same text on both sides.
    """

    cel: str
    holds: Callable[[Any], bool]
    message: str
    field: str = ""

    def validation(self) -> dict[str, str]:
        """Render as one of `x-kubernetes-validations`."""
        return {"rule": self.cel, "message": self.message, **({"fieldPath": f".{self.field}"} if self.field else {})}


class Part(BaseModel):
    """An object inside a WebApp.

    Unknown members are ignored and null counts as absent, because the API server drops both before it stores an
    object (`apiextensions-apiserver/pkg/apiserver/schema/defaulting/prunenulls.go`). Nothing is coerced.
    """

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="ignore",
        frozen=True,
        strict=True,
        validate_by_alias=True,
        validate_by_name=True,
    )
    rules: ClassVar[tuple[Rule, ...]] = ()

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the rules to the schema, as CEL."""
        node = handler.resolve_ref_schema(handler(schema))
        return {**node, "x-kubernetes-validations": [rule.validation() for rule in cls.rules]} if cls.rules else node

    def dump(self) -> dict[str, Any]:
        """Render as Kubernetes JSON: camelCase, and nothing that is not set."""
        return self.model_dump(by_alias=True, exclude_none=True)

    @model_validator(mode="before")
    @classmethod
    def _take_null_for_absent(cls, raw: Any) -> Any:
        return without_nulls(raw)

    @model_validator(mode="after")
    def _obey(self) -> Part:
        for rule in self.rules:
            if not rule.holds(self):
                raise PydanticCustomError("rule", "{message}", {"message": rule.message, "below": rule.field})
        return self


def without_nulls(raw: Any) -> Any:
    """Take null for absent, as the API server does with the members of objects that are not nullable."""
    return {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw


@dataclass(frozen=True, slots=True)
class KeyedBy:
    """Makes a list of objects a map: the named field is unique, and server-side apply merges by it."""

    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Refuse the second item of a key, at its index."""
        return core_schema.no_info_after_validator_function(self._unique, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        """Say so to the API server."""
        keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": [self.key]}
        return {**handler(schema), **keyed}

    def _unique(self, items: list[Any]) -> list[Any]:
        seen: set[str] = set()
        for index, item in enumerate(items):
            value: str = getattr(item, self.key)
            if value in seen:
                context = {"at": index, "key": self.key, "value": value}
                raise PydanticCustomError(
                    "duplicate", "must not have {key} {value} twice: remove one of the two", context
                )
            seen.add(value)
        return items
