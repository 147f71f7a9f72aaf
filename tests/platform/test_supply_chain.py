"""What the platform is made of: a bill that scanners read, licences that may be shipped, code that bandit has nothing against."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tests.platform.test_committed_files import pinned
from tests.run import CHECKS
from workflowplatform import supply_chain
from workflowplatform.servers.paths import PROJECT

pytestmark = pytest.mark.security("parts are known, licensed and pinned")


def manage(*words: str) -> str:
    environment = os.environ | {"SECRET_KEY": "only-for-tests"}
    done = subprocess.run(
        [sys.executable, "manage.py", *words], cwd=PROJECT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_bill_of_materials_is_valid_cyclonedx_and_names_every_installed_pin(record_property) -> None:
    text = manage("sbom")
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    bill = json.loads(text)
    named = {component["name"]: component for component in bill["components"]}
    absent = pinned("requirements.txt").keys() - named.keys()
    assert absent <= {"async-timeout"}  # wanted by older Pythons only
    assert all(
        part["externalReferences"][0]["hashes"] for name, part in named.items() if name in pinned("requirements.txt")
    )
    assert {"django", "htmx.org", "@codemirror/view"} <= named.keys()
    assert any(row["ref"].startswith("pkg:pypi/django-rq@") and row["dependsOn"] for row in bill["dependencies"])
    record_property("figure", f"{len(named)} parts in the bill of materials")


def test_a_broken_bill_would_be_noticed() -> None:
    bill = supply_chain.document()
    bill["components"][0]["type"] = "no such type"
    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill)) is not None


def test_every_part_may_be_shipped() -> None:
    assert [(part.name, part.licence) for part in supply_chain.parts() if not part.is_shippable] == []


@pytest.mark.parametrize(
    ("licence", "shippable"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("unknown", False),
        ("GPL-3.0-only OR MIT", True),
        ("Apache-2.0 AND GPL-3.0-only", False),
        ("Apache-2.0 AND BSD-2-Clause", True),
    ],
)
def test_licences_are_read_as_expressions(licence: str, shippable: bool) -> None:
    part = replace(supply_chain.parts()[0], licence=licence)
    assert part.is_shippable is shippable


def test_every_vendored_folder_is_in_the_bill() -> None:
    rows = (PROJECT / "static/vendor/README.md").read_text().splitlines()
    told = {row.split("|")[1].strip() for row in rows if row.startswith("|")}
    assert {place.name for place in (PROJECT / "static/vendor").iterdir() if place.is_dir()} <= told


def test_licences_are_listed_for_people() -> None:
    lines = manage("sbom", "--licences").splitlines()
    assert len(lines) == len(supply_chain.parts())
    assert next(line for line in lines if line.startswith("psycopg ")).split()[-1] == "LGPL-3.0-only"


def test_bandit_finds_what_it_should(tmp_path) -> None:
    """The check of bin/test must be able to fail."""
    (tmp_path / "bad.py").write_text("import pickle\npickle.loads(b'')\nexec('1')\n")
    words = [*CHECKS["bandit"][: CHECKS["bandit"].index("-r") + 1], str(tmp_path)]
    done = subprocess.run([sys.executable, *words], cwd=PROJECT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "B301" in done.stdout
    assert "B102" in done.stdout
