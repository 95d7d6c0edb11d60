"""The runs of one WebApp straight from the database of the history, for people whose cluster does not serve it."""

from __future__ import annotations

import os
from contextlib import closing
from pathlib import Path

from functions.aggregation.collection import Selection
from functions.aggregation.selectors import FieldRequirement
from functions.aggregation.status import Unavailable
from functions.dev.runs import NoHistory, Run
from functions.history.record import WEBAPP_FIELD
from functions.history.settings import Database
from functions.history.store import Store
from functions.runtime.settings import SettingsError


def newest(url: str, group: str, namespace: str, webapp: str, limit: int) -> list[Run]:
    """So many of them, the newest first. Raises NoHistory."""
    try:
        settings = Database.load({**os.environ, "HISTORY_DATABASE_URL": url})
    except SettingsError as error:
        raise NoHistory(f"--database: {error}") from error
    if settings.is_sqlite and not Path(str(settings.url.database)).is_file():
        raise NoHistory(f"--database {url!r}: there is no such file; `webapp dev` prints the URL of its own")
    wanted = Selection(namespace, fields=(FieldRequirement(WEBAPP_FIELD, equal=True, value=webapp),))
    try:
        with closing(Store(settings, group)) as store:
            return store.list(wanted, limit).objects
    except Unavailable as error:
        raise NoHistory(f"--database: {error}") from error
