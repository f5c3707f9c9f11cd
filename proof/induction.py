"""Induction: the first states keep the invariant, each step keeps it, and it implies the theorem.

Each obligation is one formula of linear arithmetic without quantifiers. The timeout's parts are free constants, so
the theorem holds for every timeout, margin and tick that `assumptions` allows.
"""
from dataclasses import dataclass, replace

import z3

from client import CONTACT, QUORUM, SYNC, Client, Parts
from ensemble import Inputs, Request, State, World, steps
from invariant import invariant, made, resumed, theorem
from logic import And, Not, Time, equal, fresh


@dataclass
class Obligation:
    name: str
    facts: list  # they contradict each other, if the obligation holds
    possible: list = None  # these do not: the step can happen


def free_world(grade, **different):
    """Any timeout, margin, tick: free constants."""
    parts = Parts(*map(z3.Real, ("lease", "ripening", "settling")))
    return World(grade, parts, *map(z3.Real, ("touch", "gap", "window")), **different)


def assumptions(world):
    """What the theorem asks of the timeout's parts, and what README.md's conditions say of servers and clocks."""
    parts = world.parts
    return [parts.lease > 0, parts.settling >= 0, world.gap >= 0, world.window > 0,
            world.touch >= parts.lease,  # clocks within the margin; no touch carries less than the least timeout
            world.gap <= parts.ripening,  # a ping comes while a pair becomes ripe
            world.window <= parts.settling]  # a session that was taken out is marked while a proof settles


def obligations(world):
    given = [fact for fact in assumptions(world) if not isinstance(fact, bool)]
    s, n, i = fresh(State, "s"), fresh(State, "n"), fresh(Inputs, "i")
    holds = invariant(s, world)
    for start in (made, resumed):
        for name, fact in holds.items():
            yield Obligation(f"{start.__name__} => {name}", [*given, start(s, world), Not(fact)])
    yield Obligation("invariant => theorem", [*given, *holds.values(), Not(theorem(s, world))])
    later = invariant(n, world)
    for step in steps(s, n.now, i, world):
        possible = [*given, *holds.values(), n.now >= s.now, *step.guard, equal(n, step.after)]
        yield Obligation(step.name, [*possible, Not(And(*later.values()))], possible)
    if world.grade == CONTACT:
        yield answers_do_not_disturb(s, n, i, holds, given, world)


def answers_do_not_disturb(s, n, i, holds, given, world):
    """Under Contact many answers may be on their way; `State.request` is any one of them. So what the client does with
    another one keeps what the invariant says of this one."""
    other = replace(s, request=fresh(Request, "other"))
    step = next(step for step in steps(other, n.now, i, world) if step.name == "the client has the answer")
    after = replace(step.after, request=s.request)
    facts = [*given, *holds.values(), *invariant(other, world).values(), n.now >= s.now, *step.guard, equal(n, after)]
    return Obligation("the client has another answer", [*facts, Not(And(*invariant(n, world).values()))], facts)


def solve(facts, timeout=60_000):
    solver = z3.Solver()
    solver.set("timeout", timeout)
    solver.add(*[fact for fact in facts if fact is not True])
    return solver


def induction(start, steps, invariant, theorem, s, n):
    """Returns the obligations of a model of one kind of start: of `steps` from `s` to `n`."""
    holds, later = invariant(s), And(*invariant(n).values())
    yield Obligation("start", [start(s), Not(And(*holds.values()))])
    yield Obligation("invariant => theorem", [*holds.values(), Not(theorem(s))])
    for step in steps:
        possible = [*holds.values(), *step.guard, equal(n, step.after)]
        yield Obligation(step.name, [*possible, Not(later)], possible)


def failures(obligations):
    """Returns the names of the obligations that z3 does not prove."""
    failed = []
    for obligation in obligations:
        if solve(obligation.facts).check() != z3.unsat:
            failed.append(obligation.name)
        if obligation.possible and solve(obligation.possible).check() != z3.sat:
            failed.append(f"{obligation.name}: never possible")
    return failed


def second_opinion(obligations):
    """Returns the names of the obligations that cvc5 does not prove; it reads them as SMT-LIB."""
    import cvc5

    failed = []
    for obligation in obligations:
        solver = cvc5.Solver()
        parser = cvc5.InputParser(solver)
        text = solve(obligation.facts).to_smt2()
        parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, "(set-logic QF_LIRA)\n" + text, obligation.name)
        symbols, answers = parser.getSymbolManager(), []
        while not (command := parser.nextCommand()).isNull():
            answers.append(command.invoke(solver, symbols).strip())
        if "unsat" not in answers:
            failed.append(f"{obligation.name}: {[answer for answer in answers if answer]}")
    return failed
