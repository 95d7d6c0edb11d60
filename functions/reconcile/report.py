"""Pure: what one reconcile did, in the form that answers, logs and the history show."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from functions.webapp.contract import Key
from functions.webapp.outcome import Outcome

MAX_ATTEMPTS = 5
"""How often one reconcile plans anew because somebody was quicker; then the sender has to send the event again."""


@dataclass(slots=True)
class Report:
    """Filled while a reconcile runs: `calls` in their order, `wrote` as `<uid>/<resourceVersion>` of each write."""

    webapp: Key
    outcome: Outcome = Outcome.UNCHANGED
    generation: int | None = None
    plan: list[dict[str, Any]] = field(default_factory=list)
    calls: list[dict[str, Any]] = field(default_factory=list)
    wrote: list[str] = field(default_factory=list)
    conflicts: int = 0
    reason: str = ""
    message: str = ""
    requeue_after: int | None = None

    @property
    def attempts(self) -> int:
        """How often the plan was made; each conflict but the last possible one costs another."""
        return min(self.conflicts + 1, MAX_ATTEMPTS)

    def told(self, **more: Any) -> dict[str, Any]:
        """The report as JSON."""
        found: dict[str, Any] = {
            "webapp": {"namespace": self.webapp.namespace, "name": self.webapp.name, "uid": self.webapp.uid},
            "outcome": str(self.outcome),
            "generation": self.generation,
            "reason": self.reason,
            "message": self.message,
            "plan": self.plan,
            "calls": self.calls,
            "attempts": self.attempts,
            "requeueAfterSeconds": self.requeue_after,
            **more,
        }
        return {name: value for name, value in found.items() if value is not None and value != ""}
