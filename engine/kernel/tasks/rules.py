"""The rules that an author sets for a task, apart from what people see of it: who may do what with it, and which files it takes.

A task's row keeps the rules as JSON under the language's names, in the column `extra`; nothing but this module knows that form.
A rule with its default value is not written, so that SQL can ask whether a task has a rule by asking for its key.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from engine.kernel.signals import Json

NOT_INSIDE, FOUR_EYES, SEVERAL = "not_inside", "four_eyes", "several"
COUNTING = (FOUR_EYES, NOT_INSIDE, SEVERAL)
"""Keys of the rules that count people, for SQL."""

ZIPPED = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: its media type, and how its content begins; no beginnings means plain text."""

    media_type: str
    begins: tuple[bytes, ...] = ()


FILE_KINDS: Mapping[str, FileKind] = {
    "pdf": FileKind("application/pdf", (b"%PDF-",)),
    "png": FileKind("image/png", (b"\x89PNG\r\n\x1a\n",)),
    "jpg": FileKind("image/jpeg", (b"\xff\xd8\xff",)),
    "jpeg": FileKind("image/jpeg", (b"\xff\xd8\xff",)),
    "gif": FileKind("image/gif", (b"GIF87a", b"GIF89a")),
    "webp": FileKind("image/webp", (b"RIFF",)),
    "txt": FileKind("text/plain"),
    "csv": FileKind("text/csv"),
    "json": FileKind("application/json"),
    "zip": FileKind("application/zip", ZIPPED),
    "docx": FileKind("application/vnd.openxmlformats-officedocument.wordprocessingml.document", ZIPPED),
    "xlsx": FileKind("application/vnd.openxmlformats-officedocument.spreadsheetml.sheet", ZIPPED),
    "pptx": FileKind("application/vnd.openxmlformats-officedocument.presentationml.presentation", ZIPPED),
    "odt": FileKind("application/vnd.oasis.opendocument.text", ZIPPED),
    "ods": FileKind("application/vnd.oasis.opendocument.spreadsheet", ZIPPED),
}
"""Files that the platform takes, by how their names end."""


@dataclass(frozen=True, slots=True)
class FileRules:
    """What an author allows to be added to a task."""

    types: tuple[str, ...]
    max_size: int
    max: int
    required: bool

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "FileRules":
        types = tuple(str(word).lower().lstrip(".") for word in given.get("types") or FILE_KINDS)
        return cls(types, given["max_size"], given["max"], given["required"])

    def to_json(self) -> dict[str, Json]:
        """Leave the types out where all are meant: those that a later release takes are meant too."""
        types = {} if self.types == tuple(FILE_KINDS) else {"types": list(self.types)}
        return {**types, "max_size": self.max_size, "max": self.max, "required": self.required}

    @property
    def endings(self) -> tuple[str, ...]:
        """Return the endings that names may have, for people and browsers."""
        return tuple(ending for ending, kind in FILE_KINDS.items() if self._allows(ending, kind))

    def _allows(self, ending: str, kind: FileKind) -> bool:
        family = f"{kind.media_type.split('/')[0]}/*"
        return bool({ending, kind.media_type, family} & set(self.types))


@dataclass(frozen=True, slots=True)
class FourEyesRule:
    """The people a task excludes: the one who started the instance, and those who took part in these steps."""

    start: bool
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AskRule:
    """What a question about the task does to its clock: it is paused until the answer, for so long at most."""

    at_most: str | None = None
    """A plain duration as the author wrote it; None: until the answer comes."""

    def to_json(self) -> dict[str, Json]:
        return {"pause": True, **({"at_most": self.at_most} if self.at_most else {})}


@dataclass(frozen=True, slots=True)
class ChecklistPoint:
    id: str
    title: str
    required: bool

    def to_json(self) -> dict[str, Json]:
        return {"id": self.id, "title": self.title, "required": self.required}


@dataclass(frozen=True, slots=True)
class TaskRules:
    """The rules of one task, every expression evaluated."""

    allow: tuple[str, ...] = ()
    """Acts that people may do besides answering."""
    draft: bool = True
    assign_by: str | None = None
    wip_limit: int | None = None
    """How many tasks of this step one person may hold."""
    files: FileRules | None = None
    four_eyes: FourEyesRule | None = None
    not_inside: tuple[str, ...] = ()
    """Child workflows that its four-eyes rule looks into."""
    checklist: tuple[ChecklistPoint, ...] = ()
    several: bool = False
    """Whether several people answer it, each once."""
    secure: bool = False
    """Whether who answers must be signed in: no link in a message is enough."""
    undo: float | None = None
    """How many seconds an answer given on a page can be taken back; None: the author does not say."""
    ask: AskRule | None = None
    """What a question does to the task's clock; None: it runs on."""

    @property
    def counts_people(self) -> bool:
        """Whether it asks for different people: then no service account does it."""
        return self.four_eyes is not None or bool(self.not_inside) or self.several

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> "TaskRules":
        """Read the rules of a row; keys of other releases count for nothing."""
        if not given:
            return NO_RULES
        files, eyes = given.get("attachments"), given.get(FOUR_EYES)
        return cls(
            allow=tuple(given.get("allow") or ()),
            draft=bool(given.get("draft", True)),
            assign_by=given.get("assign_by"),
            wip_limit=given.get("wip_limit"),
            files=FileRules.from_json(files) if files is not None else None,
            four_eyes=FourEyesRule(bool(eyes.get("start")), tuple(eyes.get("steps") or ())) if eyes else None,
            not_inside=tuple(given.get(NOT_INSIDE) or ()),
            checklist=tuple(
                ChecklistPoint(one["id"], one["title"], one["required"]) for one in given.get("checklist") or ()
            ),
            several=bool(given.get(SEVERAL)),
            secure=bool(given.get("secure")),
            undo=_number(given.get("undo")),
            ask=_ask(given.get("ask")),
        )

    def to_json(self) -> dict[str, Json]:
        """Write the rules as rows keep them."""
        eyes, files = self.four_eyes, self.files
        written: dict[str, Json] = {
            "allow": list(self.allow),
            "assign_by": self.assign_by,
            "wip_limit": self.wip_limit,
            "attachments": files.to_json() if files else None,
            FOUR_EYES: {"start": eyes.start, "steps": list(eyes.steps)} if eyes else None,
            NOT_INSIDE: list(self.not_inside),
            "checklist": [point.to_json() for point in self.checklist],
            SEVERAL: self.several,
            "secure": self.secure,
            "ask": self.ask.to_json() if self.ask else None,
        }
        kept = {key: value for key, value in written.items() if value not in (None, [], False)}
        kept |= {"undo": self.undo} if self.undo is not None else {}
        return kept if self.draft else {**kept, "draft": False}


def _ask(value: Any) -> AskRule | None:
    if not isinstance(value, dict) or not value.get("pause"):
        return None
    at_most = value.get("at_most")
    return AskRule(at_most if isinstance(at_most, str) else None)


def _number(value: Any) -> float | None:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else None


def undo_seconds(outcome: float | None, task: float | None, tenant: float | None) -> float:
    """Return how long an answer can be taken back: the outcome decides, then the task, then the tenant; 0: it is sent at once."""
    return next((said for said in (outcome, task, tenant) if said is not None), 0)


NO_RULES = TaskRules()
