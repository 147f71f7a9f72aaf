"""The workflows that are measured, as authors would write them."""

W1 = """
workflow: w1
title: A request with one decision
starters: {min_level: 2}
input:
  type: object
  required: [amount]
  properties: {amount: {type: number, title: Amount}}
steps:
  - {id: net, set: {net: "${start.amount * 0.8}"}}
  - {id: tax, set: {tax: "${start.amount - state.net}"}}
  - {id: kind, set: {kind: request}}
  - id: size
    if: start.amount > 1000
    then:
      - {id: large, set: {large: true}}
    else:
      - {id: small, set: {large: false}}
  - id: review
    task:
      title: "Review ${start.amount}"
      roles: [finance]
      min_level: 2
      outcomes: {approve: {title: Approve}, reject: {title: Reject}}
      form: {type: object, properties: {note: {type: string, title: Note}}}
  - {id: decided, set: {approved: "${result.review.outcome == 'approve'}"}}
  - {id: closed, set: {closed: true}}
"""

W2 = """
workflow: w2
title: A timer, two failures, success
steps:
  - {id: pause, wait: {for: PT0.01S}}
  - id: ask
    call: {python: {function: bench_third_time, args: {case: "${instance.id}"}}}
    retry: {attempts: 3, delay: PT0.01S}
  - {id: done, set: {done: true}}
"""

W3 = """
workflow: w3
title: One signal
steps:
  - {id: pause, wait: {for: PT1H}}
  - {id: done, set: {done: true}}
"""

LISTENING = """
workflow: listening
title: Waits for a signal
input: {type: object, properties: {order: {type: string}}}
steps:
  - {id: paid, signal: {name: paid, key: "${start.order}"}}
  - {id: done, set: {done: true}}
"""

SECOND = """
workflow: second
title: Waits for a second
steps:
  - {id: pause, wait: {for: PT1S}}
  - {id: done, set: {done: true}}
"""
