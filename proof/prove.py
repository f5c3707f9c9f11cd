"""Proves the lease's deadline, and prints what breaks it: see README.md beside this file."""
import sys
import time

import calls
import cases
import promotion
import table
import tokens
from client import CONTACT, QUORUM, SYNC, Client
from conditions import assumed, world
from induction import failures, free_world, obligations, second_opinion
from invariant import invariant
from logic import fresh
from ensemble import State
from runs import run

NOTES = {QUORUM: "leaders that were deposed go on answering", SYNC: "no leader is deposed unawares", CONTACT: "one server"}


class Report:
    """Prints each result, and remembers the failures."""

    def __init__(self):
        self.failed, self.begun = [], time.time()

    def heading(self, text):
        print(f"\n== {text} ({time.time() - self.begun:.0f} s)", flush=True)

    def result(self, name, good, text):
        print(f"{'' if good else 'FAILED '}{name}: {text}", flush=True)
        if not good:
            self.failed.append(name)


def theorem(report):
    report.heading("the theorem, for every timeout, margin and tick; runs of any length")
    for grade in (QUORUM, SYNC, CONTACT):
        free = free_world(grade)
        asked = list(obligations(free))
        facts = len(invariant(fresh(State, "s"), free))
        failed, other = failures(asked), second_opinion(asked)
        report.result(f"{grade} ({NOTES[grade]})", not failed and not other,
                      f"z3: {failed or 'proved'}; cvc5: {other or 'proved'}; {len(asked)} obligations, {facts} facts in the invariant")
    wrong = assumed()
    report.result("the code's parts of the timeout", not wrong, f"{wrong or 'as the theorem asks, under the conditions'}")


def show(report, heading, list_of_cases):
    report.heading(heading)
    for case in list_of_cases:
        there = world(**case.different)
        if case.order:
            found = run(there, case.order, case.goal)
            if found:
                found.check(there)  # by arithmetic alone
            report.result(case.name, found, f"{case.what}.\n    {found.line(there) if found else 'NO RUN FOUND'}")
        else:
            failed = failures(obligations(there))
            report.result(case.name, not failed, f"{case.what}.\n    {failed or 'Proved all the same.'}")


def without_clocks(report, small, words):
    report.heading(words)
    asked = list(small.obligations())
    failed, other = failures(asked), second_opinion(asked)
    report.result("the theorem", not failed and not other,
                  f"z3: {failed or 'proved'}; cvc5: {other or 'proved'}; {len(asked)} obligations")
    for rule, (what, order) in small.RULES.items():
        line = small.run(order, rule)
        report.result(f"without '{rule}'", line, f"{what}.\n    {line or 'NO RUN FOUND'}")


def held_to_the_code(report):
    report.heading("the model's client against the calls that the code's test plays")
    differ, unnoticed = calls.differences(Client), calls.unnoticed()
    stale = calls.FILE.read_text() != "\n".join(calls.generate()) + "\n"
    report.result("calls", not differ, differ[:3] or "the model says what the file says")
    report.result("the file", not stale, "proof/calls.py writes another one: run it" if stale else "as proof/calls.py writes it")
    report.result("broken rules", not unnoticed, unnoticed or "each makes a difference")
    wrong = table.faults()
    report.result("the table of README.md", not wrong, wrong or "each rule has its step, and each step its rule")


def main():
    report = Report()
    held_to_the_code(report)
    theorem(report)
    show(report, "the model is not empty", cases.WITNESSES)
    show(report, "conditions, each left out (T = 12; the client counts 10.8 from the sending)", cases.CONDITIONS)
    show(report, "the order of messages", cases.ORDER)
    show(report, "grades, each beyond what it survives", cases.GRADES)
    show(report, "rules of the client, each broken", cases.RULES)
    show(report, "other servers", cases.OTHERS)
    for small, words in ((promotion, "a promotion without a second look"), (tokens, "tokens and guarded writes")):
        without_clocks(report, small, words)
    report.heading("failed: " + ", ".join(report.failed) if report.failed else "proved")
    return bool(report.failed)


if __name__ == "__main__":
    sys.exit(main())
