"""Import rules that import-linter has no words for; pyproject.toml uses them by name."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from grimp import ImportGraph
from importlinter import Contract, ContractCheck, fields, output


def within(module: str, packages: Iterable[str]) -> bool:
    """Return whether a module is one of these packages or in one."""
    return any(module == package or module.startswith(f"{package}.") for package in packages)


class _ListingContract(Contract):
    """Report broken imports as a plain list."""

    def render_broken_contract(self, check: ContractCheck) -> None:
        """Print one line per forbidden import."""
        for line in check.metadata["broken"]:
            output.print_error(line)


class OnlyContract(_ListingContract):
    """Let some modules reach the standard library, each other, and what is allowed: nothing else, however indirectly."""

    type_name = "only"
    modules: Any = fields.ListField(subfield=fields.StringField())
    allowed: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at every import of these modules and of the modules those bring along."""
        permitted = {*self.modules, *self.allowed, *sys.stdlib_module_names}
        inside = {module for module in graph.modules if within(module, self.modules)}
        reached = inside.union(*(graph.find_upstream_modules(module) for module in inside))
        broken = [
            f"{module} imports {imported}"
            for module in sorted(reached)
            for imported in sorted(graph.find_modules_directly_imported_by(module))
            if not within(imported, permitted)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})


class ReservedContract(_ListingContract):
    """Let only some modules import a library."""

    type_name = "reserved"
    reserved: Any = fields.ListField(subfield=fields.StringField())
    importers: Any = fields.ListField(subfield=fields.StringField())

    def check(self, graph: ImportGraph, verbose: bool) -> ContractCheck:
        """Look at everyone who imports the library."""
        present = [library for library in self.reserved if library in graph.modules]
        broken = [
            f"{importer} imports {library}"
            for library in present
            for importer in sorted(graph.find_modules_that_directly_import(library))
            if not within(importer, self.importers)
        ]
        return ContractCheck(kept=not broken, metadata={"broken": broken})
