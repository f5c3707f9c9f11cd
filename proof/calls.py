"""Holds the client of the model to the code: random calls of `Lease`, and what the model says after each.

`session/src/lease/calls.txt` has them; a test beside it plays them to the code. So the test fails where the code
changes, and `check` where the model does.

    run GRADE PACE TIMEOUT                     a lease; times are in milliseconds
    CALL NOW [SENT_AT] [...] > [...] STATE     STATE: unproved, settling, or the deadline; `lapsed` if it lapsed then
"""
import pathlib
import random
from dataclasses import fields
from fractions import Fraction

import broken_rules
from client import CONTACT, PROVED, QUORUM, SETTLING, SYNC, UNPROVED, Client, Evidence, Lease, Pair, Unconfirmed
from conditions import parts
from logic import Flag, Tag, Time

FILE = pathlib.Path(__file__).resolve().parent.parent / "session/src/lease/calls.txt"
RUNS, TIMEOUT = 24, 36_000


def empty(kind):
    leaves = {Time: Fraction(0), Flag: False, Tag: 0}
    return leaves[kind] if kind in leaves else kind(*(empty(f.type) for f in fields(kind)))


class Played:
    """A lease to which calls are made, as `Session` makes them: the clock is looked at first."""

    def __init__(self, rule, grade, pace, timeout):
        self.client, self.pace = rule(grade, parts(Fraction(timeout))), pace
        self.lease = self.client.begin(self.client.accepted(empty(Lease), Fraction(0)), Fraction(0))

    def call(self, name, now, *rest):
        client, said = self.client, []
        some, deadline = client.deadline(self.lease)
        if some and deadline <= now:
            said.append("lapsed")
        self.lease = client.lapses(self.lease, now)
        if name in ("made", "resumed", "read-only"):
            sent_at, timeout = rest
            client.parts = parts(Fraction(timeout))
            self.lease = client.accepted(self.lease, sent_at)
        if name == "made":
            self.lease = client.begin(self.lease, rest[0])
        elif name == "resumed":
            self.lease = client.resume(self.lease, now, rest[0])
        elif name == "read-only":
            self.lease = client.set_read_only(self.lease)
        elif name == "answered":
            self.lease = client.answered(self.lease, now, rest[0])
        elif name == "heartbeat":
            sent_at, kind = rest
            some, due = client.due(self.lease.evidence, self.pace)
            counts = not some or sent_at >= due
            said.append("confirm" if counts else "nothing")
            self.lease = client.heartbeat_answered(self.lease, now, sent_at, kind == "check", counts)
        elif name == "confirmed":
            said.append("counts" if self.lease.evidence.unconfirmed.some else "nothing")
            self.lease = client.confirmed(self.lease, now)
        elif name == "committed":
            self.lease = client.committed(self.lease, now, rest[0])
        elif name == "refused":
            self.lease = client.not_confirmed(self.lease)
        elif name == "end":
            self.lease = client.end(self.lease)
        some, deadline = client.deadline(self.lease)
        states = {UNPROVED: "unproved", SETTLING: "settling", PROVED: "unproved"}
        return said + [str(deadline) if some else states[self.lease.state]]


def turns(lease):
    """Returns the times at which something changes."""
    evidence = lease.evidence
    return [lease.by_leader, lease.by_quorum, lease.tentative, lease.settles_at, evidence.newer.ripe_at, evidence.older.ripe_at]


def generate():
    """Returns the lines of the file."""
    dice, lines = random.Random(28), []
    for number in range(3 * RUNS):
        grade, pace = (QUORUM, SYNC, CONTACT)[number % 3], dice.choice(("Thirds", "Sixths"))
        timeout = TIMEOUT
        lines.append(f"run {grade} {pace} {timeout}")
        played, now, heard = Played(Client, grade, pace, timeout), 0, 0
        for _ in range(dice.randrange(10, 40)):
            edges = [int(at) for at in turns(played.lease) if at > now]
            steps = [now + dice.randrange(1200), now + dice.randrange(1200), now + dice.randrange(14_000)]
            # A tentative proof is to pass, too, before another one comes.
            steps += [int(played.lease.tentative) + dice.randrange(1200)] * (played.lease.state == SETTLING)
            now = max(now, dice.choice(steps + ([dice.choice(edges) + dice.randrange(-1, 2)] if edges else [])))
            edges = [int(at) for at in turns(played.lease) if heard < at <= now]
            sent = dice.choice([now, dice.randrange(heard, now + 1), max(heard, now - dice.randrange(900))] + edges)
            call = choose(dice, played, grade)
            if call in ("made", "resumed", "read-only"):
                timeout = dice.choice((timeout, timeout, timeout // 2 if timeout > 9000 else TIMEOUT))
                rest = [sent, timeout]
            elif call == "heartbeat":
                rest = [sent, dice.choice(("check", "sync"))]
            elif call == "committed":
                # It may have been on its way for longer than what was proved meanwhile.
                rest = [dice.choice((sent, max(0, sent - dice.randrange(20_000))))]
            else:
                rest = [sent] if call in ("answered", "confirmed") else []
            lines.append(" ".join(map(str, [call, now, *rest, ">", *played.call(call, now, *rest)])))
            heard = now if call != "clock" else heard
    return lines


def choose(dice, played, grade):
    often = ["answered"] * 6 if grade == CONTACT else ["heartbeat"] * 6
    if played.lease.evidence.unconfirmed.some:
        often = ["confirmed"] * 10 + ["refused"]
    often += [] if grade == CONTACT else ["committed"] * 5
    return dice.choice(often + ["clock", "resumed", "clock", dice.choice(("resumed", "made", "read-only", "end", *often))])


def differences(rule):
    """Returns the lines of the file to which the model, with this rule, says something else."""
    found, played = [], None
    for number, line in enumerate(FILE.read_text().splitlines(), 1):
        words = line.split()
        if words[0] == "run":
            played = Played(rule, words[1], words[2], int(words[3]))
            continue
        at = words.index(">")
        call = [Fraction(word) if word.isdigit() else word for word in words[1:at]]
        said = played.call(words[0], *call)
        if said != words[at + 1:]:
            found.append(f"{FILE.name}:{number}: {line}, the model: {' '.join(said)}")
    return found


def unnoticed():
    """Returns the broken rules with which the model says the same as the code."""
    rules = [rule for rule in vars(broken_rules).values()
             if isinstance(rule, type) and issubclass(rule, Client) and rule is not Client]
    return [rule.__name__ for rule in rules if not differences(rule)]


if __name__ == "__main__":
    FILE.write_text("\n".join(generate()) + "\n")
