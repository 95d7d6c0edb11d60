"""The purity law as an import-linter contract: modules that call themselves pure touch nothing of the world."""

from __future__ import annotations

import ast
from importlib.util import find_spec
from pathlib import Path
from typing import cast

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


class PureContract(Contract):
    """Every module below `package`, and every module whose docstring begins with "Pure:", obeys.

    `forbidden` are modules, most of them external, that none of these may import directly.
    """

    package = fields.StringField()
    forbidden = fields.SetField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:  # noqa: FBT001 - import-linter's signature
        """Find each direct import of a forbidden module, and each kernel module that does not say that it is pure."""
        forbidden: set[str] = set(cast("set[str]", self.forbidden))
        inside = [module for module in sorted(graph.modules) if _source(module)]
        silent = [module for module in inside if module.startswith(f"{self.package}.") and not _says_pure(module)]
        breaches = [
            f"{module} imports {imported}"
            for module in inside
            if _says_pure(module)
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if imported.split(".", maxsplit=1)[0] in forbidden
        ]
        if verbose:
            output.verbose_print(verbose, f"{sum(map(_says_pure, inside))} pure modules")
        problems = [*breaches, *(f'{module}: its docstring must begin with "Pure:"' for module in silent)]
        return ContractCheck(kept=not problems, metadata={"problems": problems})

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Name each breach on a line."""
        for problem in check.metadata["problems"]:
            output.print_error(problem)


def _source(module: str) -> Path | None:
    if module.split(".", maxsplit=1)[0] not in {"functions", "event_bridge"}:
        return None
    spec = find_spec(module)
    return Path(spec.origin) if spec and spec.origin else None


def _says_pure(module: str) -> bool:
    source = _source(module)
    docstring = ast.get_docstring(ast.parse(source.read_text(encoding="utf-8"))) if source else None
    return bool(docstring and docstring.startswith("Pure:"))
