"""WebApps that must be accepted or refused, as files: model, schema and API server give one verdict on each.

A file in `invalid/` begins with `# blames: <field>`, and `(rule)` where a rule across fields refuses it, which plain
JSON Schema cannot see.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

FOLDER = Path(__file__).parent / "data" / "webapps"
_BLAMES = "# blames: "
_RULE = " (rule)"


@dataclass(frozen=True)
class Case:
    name: str
    webapp: dict[str, Any]
    blames: str = ""
    by_rule: bool = False

    def __str__(self) -> str:
        return self.name


def _read(path: Path) -> Case:
    text = path.read_text(encoding="utf-8")
    first = text.partition("\n")[0]
    blames = first.removeprefix(_BLAMES) if first.startswith(_BLAMES) else ""
    if bool(blames) != (path.parent.name == "invalid"):
        raise ValueError(f"{path}: a file in invalid/, and only there, begins with '{_BLAMES}<field>'")
    return Case(path.stem, yaml.safe_load(text), blames.removesuffix(_RULE), blames.endswith(_RULE))


VALID = [_read(path) for path in sorted((FOLDER / "valid").glob("*.yaml"))]
INVALID = [_read(path) for path in sorted((FOLDER / "invalid").glob("*.yaml"))]
