"""docs/comparison.md: its tables stand between markers, and a run of the bench rewrites them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from tests.bench.tables import Table

PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"


def rewrite(page: Path, tables: Iterable[Table], conditions: str) -> None:
    """Put each table between `<!-- bench:KEY -->` and `<!-- bench:end -->`; raises ValueError for a missing marker."""
    text = page.read_text(encoding="utf-8")
    for table in tables:
        text = _replaced(text, table.key, f"{table.markdown()}\n\n{conditions}")
    page.write_text(text, encoding="utf-8")


def _replaced(text: str, key: str, content: str) -> str:
    marker = f"<!-- bench:{key} -->"
    pattern = re.compile(rf"({re.escape(marker)}\n).*?(<!-- bench:end -->)", re.DOTALL)
    found, count = pattern.subn(lambda match: f"{match[1]}\n{content}\n\n{match[2]}", text)
    if count != 1:
        raise ValueError(f"the page has {count} places marked {marker}, one is needed")
    return found
