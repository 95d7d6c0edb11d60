"""What a sender thread does with one delivery: send it, count it, act on the answer."""

from __future__ import annotations

import logging
import time

from event_bridge.answer import Answer, Verdict
from event_bridge.backlog import Delivery
from event_bridge.bridge import Bridge
from event_bridge.figures import Figures
from event_bridge.history import History
from event_bridge.publish import Publisher
from event_bridge.sink import NotAllowedError

_log = logging.getLogger("event_bridge")


class Sender:
    """Shared by all sender threads."""

    def __init__(self, bridge: Bridge, publisher: Publisher, figures: Figures, history: History | None) -> None:
        self._bridge, self._publisher, self._figures, self._history = bridge, publisher, figures, history

    def __call__(self, delivery: Delivery) -> None:
        """Send one delivery; whatever happens, it lands."""
        try:
            answer = self._publisher.send(delivery)
        except NotAllowedError:
            self._bridge.withdraw(delivery)
            return
        except Exception:  # noqa: BLE001 - a defect must not lose the notice
            _log.exception("a sender failed", extra={"fields": {"webapp": delivery.key}})
            answer = Answer(Verdict.AGAIN, error_type="broken")
        self._figures.answered(answer.label)
        match answer.verdict:
            case Verdict.ACKNOWLEDGED:
                self._figures.latency.observe(time.monotonic() - delivery.since)
            case Verdict.AGAIN:
                self._figures.retried.inc()
            case Verdict.POISON:
                self._figures.parked.inc()
        if _log.isEnabledFor(logging.DEBUG):
            fields = {"webapp": delivery.key, "event_id": delivery.news.notice.id, "answer": answer.label}
            _log.debug("sent", extra={"fields": fields})
        self._bridge.land(delivery, answer)
        if self._history and answer.reply:
            self._history.offer(answer.reply)
