"""Runs: the steps are given in their order, and z3 finds times and choices that end in a state that is asked for."""
from dataclasses import dataclass
from fractions import Fraction as F

import z3

from client import PROVED, QUORUM, SETTLING
from ensemble import Inputs, State, steps
from induction import solve
from invariant import made, theorem
from logic import And, Not, Or, equal, fresh, lift, value

# The parts of a step's name that tell it from the others, and what a line of a run calls it.
TOLD = {
    "X is elected": "X elected",
    "another leader is elected": "another leader elected",
    "an old touch reaches X": "an old touch reaches X",
    "X takes the session out of its queue": "X takes it out of its queue",
    "X marks the session closing": "X marks it closing",
    "X closes the session": "CLOSED",
    "the leader takes a handshake": "handshake taken",
    "the client has its connection": "connected",
    "the connection breaks": "connection breaks",
    "a heartbeat reaches F": "heartbeat at F",
    "a confirmation reaches F": "confirmation at F",
    "L works on the request": "at L",
    "the heartbeat is answered": "answered",
    "the confirmation is answered": "answered",
    "a quorum commits a write": "write committed",
    "the write is answered": "write answered",
    "L pings F": "ping",
    "F answers a ping": "F answers it",
    "F's touches reach L": "touches at L",
    "F's touches reach the ObserverMaster": "touches at the ObserverMaster",
}


REACHES_F = ("a heartbeat reaches F", "a confirmation reaches F")


@dataclass
class Run:
    states: list
    names: list
    inputs: list

    def line(self, world):
        """Returns the times of all steps on one line, and the deadline at the end."""
        parts = []
        for name, state, after, i in zip(self.names, self.states, self.states[1:], self.inputs):
            told = TOLD.get(name, name)
            if name.endswith("reaches F"):
                told = f"{'check' if after.request.check else 'sync' if name.startswith('a heartbeat') else 'its confirmation'}" \
                    f" (sent {number(i.sent_at)}) at F{', touch LOST' if i.lost else ''}"
            if name == "the leader takes a handshake":
                told = f"handshake (sent {number(i.sent_at)}) at {'X' if i.epoch == state.x.epoch else 'an older leader'}"
            parts.append(f"{number(after.now)} {told}")
        some, deadline = world.rules.deadline(self.states[-1].lease)
        return "; ".join(parts) + (f". The client counts until {number(deadline)}" if some else "")

    def check(self, world):
        """Asserts, by arithmetic alone, that the model has this run."""
        for name, state, after, i in zip(self.names, self.states, self.states[1:], self.inputs):
            step = next(step for step in steps(state, after.now, i, world) if step.name == name)
            assert after.now >= state.now and And(*step.guard) is True and step.after == after, name


def number(time):
    return f"{float(time):.2f}"


def run(world, order, goal):
    """Returns a run from the making of the session through the steps of `order` to `goal`, or None."""
    states, inputs = [fresh(State, "0")], [fresh(Inputs, f"i{k}") for k in range(len(order))]
    s = states[0]
    c = s.connection
    facts = [made(s, world), s.now == 0, s.handshake.sent_at == 0, c.pinged == 0, c.answered == 0, c.swapped == 0,
             c.arrived == 0, s.highest == 0, s.x.epoch >= 0, s.x.clock <= lift(world.touch + 1)]
    for k, name in enumerate(order):
        s, n, i = states[-1], fresh(State, str(k + 1)), inputs[k]
        step = next(step for step in steps(s, n.now, i, world) if step.name == name)
        facts += [n.now >= s.now, *step.guard, equal(n, step.after)]
        if name == "the leader takes a handshake":
            facts.append(Or(i.epoch == 0, i.epoch == s.x.epoch, i.epoch == s.highest))
        states.append(n)
    solver = solve(facts)
    # The plainest run that z3 finds: messages take a while, and the session is closed well before the deadline.
    for least, apart in ((F(1, 2), F(1, 10)), (F(1, 5), F(1, 10)), (F(1, 10), F(1, 50)), (F(1, 100), F(1, 100)), (F(0), F(0))):
        solver.push()
        solver.add(goal(states[-1], world, lift(least)))
        for s, n, i, name, before in zip(states, states[1:], inputs, order, [None, *order]):
            in_the_swap = before == "F answers a ping" and name in REACHES_F
            solver.add(Or(And(in_the_swap, i.lost), n.now >= s.now + lift(apart)))
        if solver.check() == z3.sat:
            model = solver.model()
            return Run([value(model, state) for state in states], list(order), [value(model, i) for i in inputs])
        solver.pop()
    return None


def closed_early(s, world, least):
    """The session is closed while the deadline lies ahead."""
    some, deadline = world.rules.deadline(s.lease)
    return And(some, s.now + least <= deadline, s.now < deadline, s.x.closed)


def in_force(at_x, after):
    """A deadline lies ahead, later than `after`."""
    def goal(s, world, least):
        some, deadline = world.rules.deadline(s.lease)
        return And(some, s.now + least < deadline, deadline > after, s.connection.leader == s.x.epoch if at_x else True)
    return goal
