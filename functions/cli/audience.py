"""Who watches the demo: a person at a terminal or behind a pipe, or a script that wants one JSON document."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from cloudevents.core.v1.event import CloudEvent
from rich.console import Console
from rich.markup import escape

from functions.cli.output import counted, document, table
from functions.dev.answer import Answer
from functions.dev.demo import Step
from functions.dev.recording import short

COLUMNS = ("STEP", "HOLDS", "EVENTS", "API CALLS", "WRITES", "SECONDS")


class Printer:
    """Prints as it happens, and a table at the end."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def doing(self, what: str) -> None:
        """One dim line."""
        self._console.print(f"[dim]{escape(what)}[/]")

    def begins(self, step: Step) -> None:
        """The step's title."""
        self._console.print(f"\n[bold]{escape(step.title)}[/]")

    def event(self, event: CloudEvent, answer: Answer) -> None:
        """The event, its plan, and how many API calls it took."""
        change, subject = short(event)
        plan = ", ".join(answer.plan) or "nothing to do"
        calls = f"{counted(len(answer.calls), 'API call')}, {counted(answer.writes, 'write')}"
        told = f"{change} {subject}: {answer.outcome or answer.detail}: {plan} ({calls}, {answer.ms:.0f} ms)"
        self._console.print(f"  {escape(told)}")

    def ended(self, step: Step) -> None:
        """Whether it held."""
        if step.failure:
            self._console.print(f"  [red]FAILED[/] {escape(step.claim)}: {escape(step.failure)}")
        else:
            self._console.print(f"  [green]ok[/] {escape(step.claim)}")

    def end(self, steps: list[Step], totals: dict[str, Any]) -> None:
        """The table and the totals."""
        rows = [
            (
                step.title,
                f"no: {step.claim}" if step.failure else step.claim,
                str(step.events),
                str(step.api_calls),
                str(step.writes),
                f"{step.seconds:.1f}",
            )
            for step in steps
        ]
        self._console.print()
        table(self._console, COLUMNS, rows, right=COLUMNS[2:])
        told = "{events} events, {api_calls} API calls, {writes} of them writes, {seconds} seconds".format(**totals)
        self._console.print(f"\nin all: {told}")


class Recorder:
    """Prints one JSON document at the end."""

    def __init__(self) -> None:
        self._events: list[dict[str, Any]] = []

    def doing(self, what: str) -> None:
        """Nothing."""

    def begins(self, step: Step) -> None:
        """Nothing."""

    def event(self, event: CloudEvent, answer: Answer) -> None:
        """Keep it for the document."""
        self._events.append(
            {
                "id": event.get_id(),
                "type": event.get_type(),
                "subject": event.get_subject(),
                "status": answer.status,
                "outcome": answer.outcome,
                "plan": answer.plan,
                "api_calls": len(answer.calls),
                "writes": answer.writes,
                "ms": answer.ms,
            }
        )

    def ended(self, step: Step) -> None:
        """Nothing."""

    def end(self, steps: list[Step], totals: dict[str, Any]) -> None:
        """The document."""
        document({"steps": [asdict(step) for step in steps], "events": self._events, "totals": totals})
