"""A selection as SQL conditions: they select the rows whose objects it `matches`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sqlalchemy import Column, ColumnElement, and_, false, func, not_, true

from functions.aggregation.collection import Selection
from functions.aggregation.selectors import FieldRequirement, Operator, Requirement
from functions.history.record import MAX_LABEL, OUTCOME_FIELD, OUTCOME_LABEL, TRIGGER_LABEL, WEBAPP_FIELD, WEBAPP_LABEL
from functions.history.schema import reconciles

Condition = ColumnElement[bool]

LABELS: dict[str, Column[str]] = {
    WEBAPP_LABEL: reconciles.c.webapp,
    OUTCOME_LABEL: reconciles.c.outcome,
    TRIGGER_LABEL: reconciles.c.trigger,
}
"""The labels that objects may have, and where their values are."""

FIELDS: dict[str, Column[str]] = {
    "metadata.name": reconciles.c.name,
    "metadata.namespace": reconciles.c.namespace,
    WEBAPP_FIELD: reconciles.c.webapp,
    OUTCOME_FIELD: reconciles.c.outcome,
}
"""The fields that can be selected by."""


def conditions(selection: Selection) -> Iterator[Condition]:
    """Raises KeyError for a field that cannot be selected by."""
    if selection.namespace:
        yield equals(reconciles.c.namespace, selection.namespace)
    if selection.name:
        yield equals(reconciles.c.name, selection.name)
    yield from map(_label, selection.labels)
    yield from map(_field, selection.fields)


def equals(column: Column[str], value: str) -> Condition:
    """False for a text that no database can hold, and so cannot be asked for."""
    return column == value if _is_storable(value) else false()


def _label(requirement: Requirement) -> Condition:
    """A value that is no label (empty, too long) is one that the object does not have."""
    column = LABELS.get(requirement.key)
    if column is None:
        met = Requirement(requirement.key, requirement.operator, requirement.values).matches({})
        return true() if met else false()
    there = and_(column != "", func.length(column) <= MAX_LABEL)
    values = [each for each in requirement.values if 0 < len(each) <= MAX_LABEL and _is_storable(each)]
    match requirement.operator:
        case Operator.EXISTS:
            return there
        case Operator.NOT_EXISTS:
            return not_(there)
        case Operator.EQUAL | Operator.IN:
            return _among(column, values)
        case Operator.NOT_EQUAL | Operator.NOT_IN:
            return not_(_among(column, values))


def _field(requirement: FieldRequirement) -> Condition:
    met = equals(FIELDS[requirement.path], requirement.value)
    return met if requirement.equal else not_(met)


def _among(column: Column[str], values: Iterable[str]) -> Condition:
    found = list(values)
    return column.in_(found) if found else false()


def _is_storable(value: str) -> bool:
    return "\0" not in value and value.isprintable()
