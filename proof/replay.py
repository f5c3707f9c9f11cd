"""Replays traces of the real session on the simulated ensemble as runs of the model.

    python3 proof/replay.py FILE...

A trace has one event a line, in the order in which they happened, as `traces.rs` of `tests/simulation` writes it:

    AT run GRADE PACE TIMEOUT         a session is to be made. Times are in microseconds of true time, which the client's
                                      clock shows
    AT leads L EPOCH RATE             L leads; its clock runs at RATE thousandths of the true rate
    AT ping F EPOCH                   the leader of EPOCH pings F
    AT swap F EPOCH SENT touch|none   F answers the ping that was sent at SENT: with a touch of the session, or without
    AT touches F EPOCH SWAPPED touch|none RATE   that answer reaches the leader
    AT made F EPOCH SENT RATE         the leader makes the session, of the handshake that was sent at SENT
    AT handshake F EPOCH SENT RATE    it gets one that continues the session
    AT connected F DEADLINE           the client has its connection
    AT breaks                         the client has lost it
    AT request F check|sync SENT      F has a request of the client's; `lost` at the end: not its touch
    AT work F EPOCH                   the leader has it
    AT answer success|refusal DEADLINE   the client has the answer
    AT write F SENT                   F has a write of the caller's
    AT works F EPOCH                  the leader has it
    AT written success|refusal DEADLINE   the client has its answer
    AT clock DEADLINE                 the client looks at its clock
    AT marks EPOCH TAKEN              the leader marks the session closing; it took it out of its queue at TAKEN
    AT closed EPOCH                   the end that the leader of EPOCH proposed is committed

DEADLINE is the real client's: a time, or `none`. The replay takes each leader in turn for the model's X. Three things
may fail: a `guard`, where the model does not allow what happened; the `client`, whose deadline is not the model's; the
`invariant`, and the theorem with the real client's deadline in it. The first is a gap of the model, the others are faults.
"""
import sys
from fractions import Fraction

import broken_rules
import calls
from client import Client
from conditions import GAP, MARGIN, WINDOW, parts
from ensemble import CONFIRMATION, HEARTBEAT, NOTHING, Inputs, State, World, change, steps
from invariant import invariant, made, theorem

# The servers' clocks show whole microseconds.
ROUNDING = 3
LONG_AGO = Fraction(-10**9)


class Failed(Exception):
    """What failed, and how."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Ends(Exception):
    """The member leads, so no message about the handshake passed: the model counts such clients among those of a member."""


class Replay:
    """One session, with the leader of one epoch as X."""

    def __init__(self, epoch, run, before, rule=Client):
        grade, self.pace, timeout = run
        self.timeout, self.x = Fraction(timeout), epoch
        of = parts(self.timeout)
        self.world = World(grade, of, (1 - MARGIN) * self.timeout, GAP * self.timeout, WINDOW * self.timeout, rule)
        self.state = calls.empty(State)
        self.state = change(self.state, now=LONG_AGO, x=dict(epoch=Fraction(epoch)))
        self.is_made, self.sent_at, self.now, self.deadline = False, None, LONG_AGO, None
        self.refused, self.done, self.steps = None, set(), 0
        # When the caller's write was sent that F has, and why the model's leader refuses it.
        self.write_sent_at, self.unwritten = None, None
        # By member and epoch: the last ping, the last that was answered, the last swap, the last that arrived; at first
        # the time at which the leader began.
        self.pings, self.begun = {}, {}
        for at, words in before:
            self.event(at, words)

    # ------------------------------------------------------------------- steps

    def step(self, name, **inputs):
        given = calls.empty(Inputs)
        given = change(given, **{key: Fraction(what) if not isinstance(what, bool) else what for key, what in inputs.items()})
        found = next(step for step in steps(self.state, self.now, given, self.world) if step.name == name)
        failed = [number for number, guard in enumerate(found.guard, 1) if not guard]
        if failed:
            raise Failed("guard", f"'{name}', the guard's parts {failed}")
        self.state = found.after
        self.done.add(name)
        self.steps += 1
        self.holds(name)

    def attempt(self, name, **inputs):
        """Makes a step that the leader may also refuse; returns why it has to."""
        try:
            self.step(name, **inputs)
        except Failed as failed:
            if failed.kind != "guard":
                raise
            return failed

    def happens(self):
        if self.refused:
            raise self.refused

    def holds(self, name):
        for fact, holds in invariant(self.state, self.world).items():
            if not holds:
                raise Failed("invariant", f"after '{name}': {fact}")
        if not theorem(self.state, self.world):
            raise Failed("invariant", f"after '{name}': the theorem")
        if self.state.x.closed and self.deadline is not None and self.now < self.deadline:
            raise Failed("invariant", f"after '{name}': the session is closed, and the lease lasts until {self.deadline}")

    def says(self, deadline):
        """Compares the real client's deadline with the model's."""
        self.deadline = None if deadline == "none" else Fraction(deadline)
        some, modelled = self.world.rules.deadline(self.state.lease)
        some = some and self.now < modelled
        if self.deadline != (modelled if some else None):
            raise Failed("client", f"its deadline is {deadline}, the model's {modelled if some else 'none'}")
        self.holds("an answer")

    # ------------------------------------------------------------------- lines

    def event(self, at, words):
        self.now = Fraction(at)
        getattr(self, words[0])(*words[1:])

    def length(self, rate):
        return self.timeout * 1000 / int(rate) - ROUNDING

    def here(self, member, epoch):
        """Whether the client is connected to this member, and that one's leader is the one of this epoch."""
        connection = self.state.connection
        return self.is_made and connection.open and (self.member, connection.leader) == (member, int(epoch))

    def times(self, member, epoch):
        return self.pings.setdefault((member, int(epoch)), [self.begun[int(epoch)]] * 4)

    def leads(self, _, epoch, rate):
        epoch = int(epoch)
        self.begun[epoch] = self.now
        if not self.is_made:
            self.state = change(self.state, highest=Fraction(epoch))
        elif epoch == self.x:
            self.step("X is elected", length=self.length(rate))
        else:
            self.step("another leader is elected", epoch=epoch)

    def ping(self, member, epoch):
        self.times(member, epoch)[0] = self.now
        if self.here(member, epoch):
            self.step("L pings F")

    def swap(self, member, epoch, sent, _):
        self.times(member, epoch)[1:3] = Fraction(sent), self.now
        if self.here(member, epoch):
            self.step("F answers a ping", length=sent)

    def touches(self, member, epoch, swapped, touch, rate):
        self.times(member, epoch)[3] = Fraction(swapped)
        touches = touch == "touch"
        # Of two swaps at the same time one has no touches.
        if self.here(member, epoch) and self.state.connection.arrived < Fraction(swapped):
            before = self.state.x.clock
            self.step("F's touches reach L", a=swapped, yes=touches, length=self.length(rate))
            if not touches and self.state.x.clock != before:
                raise Failed("guard", "the model's touches come, and the trace has none")
        elif touches:
            self.touched(epoch, rate)

    def touched(self, epoch, rate):
        """Notes a touch that is not of the present connection."""
        if int(epoch) != self.x or self.state.x.taken:
            return
        if self.is_made:
            self.step("an old touch reaches X", length=self.length(rate))
        else:
            self.state = change(self.state, x=dict(clock=self.now + self.length(rate)))

    def made(self, _, epoch, sent, rate):
        self.sent_at, self.leader = Fraction(sent), Fraction(epoch)
        if int(epoch) == self.x:
            self.state = change(self.state, x=dict(leads=True, clock=self.now + self.length(rate)))

    def handshake(self, _, epoch, sent, rate):
        if self.state.connection.open or Fraction(sent) < self.state.handshake.sent_at:
            # The client has given it up.
            return self.touched(epoch, rate)
        self.leader = Fraction(epoch)
        if self.is_made:
            self.refused = self.attempt("the leader takes a handshake", epoch=epoch, sent_at=sent, length=self.length(rate))

    def connected(self, member, deadline):
        self.member = member
        pinged, answered, swapped, arrived = self.times(member, self.leader)
        if self.is_made:
            self.happens()
            if not self.state.handshake.on_its_way:
                raise Ends
            self.step("the client has its connection", sent_at=answered, length=pinged, a=swapped, b=arrived)
        else:
            lease = self.world.rules.begin(self.world.rules.accepted(self.state.lease, self.sent_at), self.sent_at)
            connection = dict(open=True, leader=self.leader, pinged=pinged, answered=answered, swapped=swapped, arrived=arrived)
            self.state = change(self.state, now=self.now, heard_at=self.now, vouched=self.leader, lease=lease,
                                connection=connection, handshake=dict(sent_at=self.sent_at))
            self.is_made = True
            if not made(self.state, self.world):
                raise Failed("guard", "the session was not made as the model's is")
            self.holds("the session is made")
        self.says(deadline)

    def breaks(self):
        self.write_sent_at, self.unwritten = None, None
        self.deadline = self.deadline if self.deadline is None or self.now < self.deadline else None
        if self.state.connection.open:
            self.step("the connection breaks")

    def request(self, member, kind, sent, *lost):
        if not (self.is_made and self.state.connection.open and self.member == member):
            return
        is_confirmation = self.state.lease.evidence.unconfirmed.some
        name = "a confirmation reaches F" if is_confirmation else "a heartbeat reaches F"
        self.refused = None
        self.step(name, sent_at=sent, yes=kind == "check" and not is_confirmation, lost=bool(lost))

    def work(self, member, epoch):
        if not self.here(member, epoch) or self.state.request.kind == NOTHING or self.state.request.worked_on:
            return
        self.refused = self.attempt("L works on the request")

    def answer(self, result, deadline):
        state, rules = self.state, self.world.rules
        if state.connection.open and state.request.kind != NOTHING:
            if result == "refusal":
                self.step("the confirmation is refused" if state.request.kind == CONFIRMATION else "the heartbeat is refused")
                return self.says(deadline)
            self.happens()
            if state.request.kind == HEARTBEAT:
                lapsed = rules.lapses(state.lease, self.now)
                some, due = rules.due(lapsed.evidence, self.pace)
                self.step("the heartbeat is answered", yes=not some or state.request.sent_at >= due)
            else:
                self.step("the confirmation is answered")
        self.says(deadline)

    def write(self, member, sent):
        if self.is_made and self.state.connection.open and self.member == member:
            self.write_sent_at, self.unwritten = Fraction(sent), None

    def works(self, member, epoch):
        if self.here(member, epoch) and self.write_sent_at is not None:
            self.unwritten = self.attempt("a quorum commits a write", sent_at=self.write_sent_at)

    def written(self, result, deadline):
        if self.state.connection.open and self.write_sent_at is not None and result == "success":
            if self.unwritten:
                raise self.unwritten
            self.step("the write is answered")
        self.write_sent_at = None
        self.says(deadline)

    def clock(self, deadline):
        if self.is_made:
            self.step("the client looks at its clock")
            self.says(deadline)

    def takes(self, epoch):
        if int(epoch) == self.x:
            self.step("X takes the session out of its queue")

    def marks(self, epoch, _):
        if int(epoch) == self.x:
            self.step("X marks the session closing")

    def closed(self, epoch):
        if int(epoch) == self.x:
            self.step("X closes the session")


def read(text):
    """Returns the runs of a trace: the words of each, and its events, before it and in it."""
    runs, events = [], []
    for line in text.splitlines():
        at, *words = line.split()
        if words[0] == "run":
            runs.append((words[1:], list(events), []))
            continue
        new = (int(at), words)
        for into in [events] + ([runs[-1][2]] if runs else []):
            if words[0] == "marks":
                # It was taken out before all that happened at that time, or the clock would have moved on.
                taken = int(words[2])
                place = next((place for place, (when, _) in enumerate(into) if when >= taken), len(into))
                into.insert(place, (taken, ["takes", words[1]]))
            into.append(new)
    return runs


def replay(text, rule=Client):
    """Replays each run with each leader as X; returns the steps that were made, and what failed."""
    made, failures, count = set(), [], 0
    for run, before, events in read(text):
        about = ("leads", "ping", "swap", "touches")
        earlier = [(at, words) for at, words in before if words[0] in about]
        end = next((place for place, (_, words) in enumerate(events) if words[0] == "closed"), len(events) - 1)
        epochs = {int(words[2]) for _, words in earlier + events if words[0] == "leads"}
        for epoch in sorted(epochs):
            played = Replay(epoch, run, earlier, rule)
            for at, words in events[:end + 1]:
                try:
                    played.event(at, words)
                except Failed as failed:
                    failures.append((failed.kind, f"X of epoch {epoch}, at '{at} {' '.join(words)}': {failed}"))
                    break
                except Ends:
                    break
            made |= played.done
            count += played.steps
    return made, failures, count


# What many traces make, all but what belongs to the grade `Contact`, to read-only servers, and to broken conditions.
KINDS = 22


def sees(texts):
    """Whether a client that counts too much breaks the invariant in these traces."""
    rule = broken_rules.PairsProveThemselves
    return any(kind == "invariant" for text in texts for kind, _ in replay(text, rule)[1])


def main(files):
    texts, made, failed, count = [open(file).read() for file in files], set(), False, 0
    for file, text in zip(files, texts):
        steps_made, failures, steps_count = replay(text)
        made, count = made | steps_made, count + steps_count
        for _, failure in failures:
            failed = True
            print(f"{file}: {failure}")
    print(f"{len(files)} traces, {count} steps of {len(made)} kinds")
    if len(files) >= KINDS and (len(made) < KINDS or not sees(texts)):
        print("the traces show too little")
        failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
