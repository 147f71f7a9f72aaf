"""The workflows that the machine plays with, and what each promises."""

from dataclasses import dataclass, field

CALL = '{python: {function: model_outside, args: {instance: "${instance.id}", step: %s}}}'

GRAPH = f"""
workflow: graph
title: Graph
steps:
  - id: whole
    graph:
      steps:
        - id: a
          set: {{a: true}}
        - id: b
          needs: [a]
          call: {CALL % "b"}
          retry: {{attempts: 3, delay: PT10S}}
        - id: c
          needs: [a]
          wait: {{for: PT1M}}
        - id: d
          needs: [b, c]
          set: {{d: true}}
"""

RETRIED = f"""
workflow: retried
title: Retried
steps:
  - id: ask
    call: {CALL % "ask"}
    retry: {{attempts: 2, delay: PT30S, factor: 2}}
  - id: after
    set: {{done: true}}
"""

QUEUED = """
workflow: queued
title: At most two, others wait
limits: {concurrent: 2}
steps:
  - id: work
    task: {title: Work}
"""

REFUSING = """
workflow: refusing
title: At most one, others are refused
limits: {concurrent: 1, at_limit: refuse}
steps:
  - id: rest
    wait: {for: PT2M}
  - id: work
    task: {title: Work, min_level: 2}
"""

CHILD = """
workflow: child
title: Child
steps:
  - id: work
    task: {title: Work}
    timeout: PT1H
    on_timeout: []
"""

PARENT = f"""
workflow: parent
title: Parent
steps:
  - id: both
    parallel:
      branches:
        young:
          - id: raise_child
            workflow: {{name: child}}
        own:
          - id: ask
            call: {CALL % "ask"}
            on_error: []
  - id: after
    set: {{done: true}}
"""

APPROVAL = """
workflow: approval
title: Approval
starters: {min_level: 2}
steps:
  - id: review
    task: {title: Review, roles: [finance, hr], not_same_as: [start]}
  - id: pay
    task: {title: Pay, roles: [finance], not_same_as: [start]}
"""

SIGNAL = """
workflow: signalled
title: Signalled
steps:
  - id: paid
    signal: {name: paid}
  - id: after
    wait: {for: PT30S}
"""

NIGHTLY = f"""
workflow: nightly
title: By the clock
steps:
  - id: rest
    wait: {{for: PT90S}}
  - id: ask
    call: {CALL % "ask"}
    retry: {{attempts: 2, delay: PT10S}}
  - id: linger
    wait: {{for: PT10S}}
"""

EVENT = """
workflow: listening
title: Listening
trigger: event
event: {name: order}
limits: {concurrent: 2}
steps:
  - id: rest
    wait: {for: PT1M}
  - id: work
    task: {title: Work}
"""


@dataclass(frozen=True)
class Template:
    """A document and its promises."""

    source: str
    floor: int = 4
    """The level from which on one may start it."""
    limit: int | None = None
    refuses: bool = False
    heard: bool = False
    """Whether an event starts it, and nobody else."""
    needs: dict[str, tuple[str, ...]] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)
    before: tuple[str, ...] = ()
    """Templates that must be active first."""


TEMPLATES: dict[str, Template] = {
    "graph": Template(GRAPH, needs={"b": ("a",), "c": ("a",), "d": ("b", "c")}, attempts={"b": 3}),
    "retried": Template(RETRIED, needs={"after": ("ask",)}, attempts={"ask": 2}),
    "queued": Template(QUEUED, limit=2),
    "refusing": Template(REFUSING, limit=1, refuses=True, needs={"work": ("rest",)}),
    "child": Template(CHILD),
    "parent": Template(PARENT, attempts={"ask": 1}, before=("child",)),
    "approval": Template(APPROVAL, floor=2, needs={"pay": ("review",)}),
    "signalled": Template(SIGNAL, needs={"after": ("paid",)}),
    "nightly": Template(NIGHTLY, needs={"ask": ("rest",), "linger": ("ask",)}, attempts={"ask": 2}),
    "listening": Template(EVENT, limit=2, heard=True, needs={"work": ("rest",)}),
}
