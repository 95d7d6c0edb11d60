"""Pure: the rules of Serving's validation webhook for autoscaling annotations, of Knative's own autoscaler (KPA).

Source: knative/serving `pkg/apis/autoscaling/annotation_validation.go`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Final

PREFIX: Final = "autoscaling.knative.dev/"
_UNITS: Final = {"ns": 1e-9, "us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION: Final = re.compile(r"(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+")
_PIECE: Final = re.compile(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)")
_BOUNDS: Final = ("min-scale", "max-scale", "activation-scale")


def faults(annotations: Mapping[str, str]) -> Iterator[str]:
    """What is wrong with the annotations of a Service's template."""
    told = {key.removeprefix(PREFIX): value for key, value in annotations.items() if key.startswith(PREFIX)}
    for key, value in told.items():
        if fault := _fault(key, value):
            yield f"{PREFIX}{key}: {value!r} {fault}"
    low, high, first = (_whole(told.get(key, "0")) for key in _BOUNDS)
    if high and low > high:
        yield f"{PREFIX}max-scale: is less than min-scale"
    if first > 1 and (low > first or (high and first > high)):
        yield f"{PREFIX}activation-scale: must lie between min-scale and max-scale"


def _fault(key: str, value: str) -> str:
    good, cure = _RULES.get(key, (bool, ""))
    return "" if good(value) else cure


def seconds(text: str) -> float:
    """A duration as Go spells it (`1m30s`); -1 where it is none."""
    if text == "0":
        return 0.0
    if not _DURATION.fullmatch(text):
        return -1.0
    return sum(float(number) * _UNITS[unit] for number, unit in _PIECE.findall(text))


def _whole(text: str) -> int:
    return int(text) if text.isdigit() else -1


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -1.0


def _whole_seconds(low: float) -> Callable[[str], bool]:
    return lambda text: low <= (found := seconds(text)) <= 3600 and found == int(found)


_RULES: Final[Mapping[str, tuple[Callable[[str], bool], str]]] = {
    "min-scale": (str.isdigit, "must be a whole number"),
    "max-scale": (str.isdigit, "must be a whole number"),
    "activation-scale": (lambda text: _whole(text) > 1, "must be 2 or more"),
    "initial-scale": (lambda text: _whole(text) > 0, "must be 1 or more, unless the cluster allows 0"),
    "window": (_whole_seconds(6), "must be from 6s to 1h, in whole seconds"),
    "scale-down-delay": (_whole_seconds(0), "must be from 0s to 1h, in whole seconds"),
    "scale-to-zero-pod-retention-period": (_whole_seconds(0), "must be from 0s to 1h, in whole seconds"),
    "metric": ({"concurrency", "rps"}.__contains__, "must be concurrency or rps"),
    "target": (lambda text: _number(text) >= 0.01, "must be 0.01 or more"),
    "target-utilization-percentage": (lambda text: 1 <= _number(text) <= 100, "must be from 1 to 100"),
    "target-burst-capacity": (lambda text: _number(text) >= 0 or text == "-1", "must be 0 or more, or -1"),
}
