"""The ensemble around one session: its states, and its steps with their guards.

TIME      The only time is the client's clock. A server's clock appears by what it bounds (`World.touch`, `World.gap`,
          `World.window`).
LEADERS   X is any one of ZooKeeper's leaders, by its epoch: the one that might close the session. X is modelled in
          full. The others do what they like, but a quorum commits only for the highest epoch that is established.
          What is proved for X is proved for all.
MEMBER    F is the server of the client's connection, L the leader behind it. A client of L itself is the case in
          which F answers a ping at once after each touch.
"""
from dataclasses import dataclass, field, fields, replace
from fractions import Fraction

from client import CONTACT, NONE, ONE, PROVED, QUORUM, TWO, Client, Lease, Parts
from logic import And, Flag, If, Implies, Not, Or, Tag, Time, is_dataclass, record

NOTHING, HEARTBEAT, CONFIRMATION, ANY = range(4)


@record
class X:
    epoch: Time
    leads: Flag  # X's tracker was made; X may be deposed since
    clock: Time  # before then the session's time at X has not come
    taken: Flag  # out of its queue of sessions (`ExpiryQueue.poll`)
    taken_at: Time
    closing: Flag  # `setSessionClosing`
    closed: Flag  # closeSession is committed


@record
class Connection:
    open: Flag
    leader: Time  # L, by its epoch
    pinged: Time  # L's last ping to F
    answered: Time  # the sending of the last ping that F answered
    swapped: Time  # when F answered it, and took its table of touches out
    arrived: Time  # the swap whose touches were the last to reach L


@record
class Handshake:
    on_its_way: Flag  # L has accepted it
    leader: Time
    sent_at: Time


@record
class Request:
    kind: Tag  # NOTHING, HEARTBEAT, CONFIRMATION; ANY (grade Contact)
    sent_at: Time
    check: Flag
    touched_at: Time  # when F put the touch into its table
    lost: Flag  # it put it into the table that it was just taking out
    behind: Time  # the swap whose answer went to L before the request
    worked_on: Flag
    ping: Time  # L's last ping before it


@record
class Write:
    """A write of the caller's that a quorum has committed; any one of those that are on their way."""
    answered: Flag  # its answer is on its way
    sent_at: Time


@record
class State:
    now: Time
    highest: Time  # the highest epoch that is established
    x: X
    connection: Connection
    handshake: Handshake
    request: Request
    write: Write
    at_read_only: Flag  # the client is connected to a read-only server
    heard_at: Time  # when the client got the last answer
    lease: Lease
    vouched: Time  # by the leader of this epoch was the last commit that counted


@record
class Inputs:
    """What a step is free to choose."""
    sent_at: Time
    length: Time
    epoch: Time
    a: Time
    b: Time
    yes: Flag
    lost: Flag


@dataclass
class World:
    """What holds. The defaults are the conditions; `conditions.py` says where each stands in README.md."""
    grade: str
    parts: Parts
    touch: Time  # a touch, or the start of a leader's clocks, lets at least this much time pass
    gap: Time  # a leader that serves has sent its last ping no longer ago
    window: Time  # between `poll` and `setSessionClosing`: a check passes no later
    client: type = Client
    deposed: bool = None  # leaders that were deposed go on answering
    own_touch: Time = None  # the same as `touch`, for a touch of the present connection
    losses: str = "one"  # of the touches of a heartbeat and its confirmation: "none", "one", "both"
    pings_before_requests: bool = True  # F -> L in order
    pings_before_answers: bool = True  # L -> F in order
    one_server: bool = True  # for the grade Contact
    refusals_count: bool = False  # the client takes a check that the leader refused for a success
    events: tuple = ()  # what the conditions exclude

    def __post_init__(self):
        self.rules = self.client(self.grade, self.parts)
        self.deposed = self.grade == QUORUM if self.deposed is None else self.deposed
        self.own_touch = self.touch if self.own_touch is None else self.own_touch


@dataclass
class Step:
    name: str
    after: State
    guard: list = field(default_factory=list)


def change(state, **new):
    """Returns `state` with new fields; of a record by a dictionary of its own."""
    whole = lambda key, what: change(getattr(state, key), **what) if isinstance(what, dict) else what
    return replace(state, **{key: whole(key, what) for key, what in new.items()})


def steps(state, now, i, world):
    """Returns each step that may happen at `now`, with inputs `i`."""
    s = change(state, now=now)
    yield from leaders(s, i, world)
    yield from sessions_of_x(s, i, world)
    yield from connections(s, i, world)
    if world.grade == CONTACT:
        yield from requests_that_count_at_once(s, i, world)
    else:
        yield from heartbeats(s, i, world)
        yield from writes(s, i, world)
        yield from pings(s, i, world)
    yield Step("the client looks at its clock", change(s, lease=world.rules.lapses(s.lease, s.now)))
    yield from excluded_events(s, i, world)


def leaders(s, i, world):
    # A new leader's clocks start when it is established, with the timeout of the creation. Sections 1, 2, 7.
    yield Step("X is elected", change(s, highest=s.x.epoch, x=dict(leads=True, clock=s.now + i.length)),
               [Not(s.x.leads), s.x.epoch > s.highest, Not(s.x.closed), i.length >= world.touch])
    yield Step("another leader is elected", change(s, highest=i.epoch), [i.epoch > s.highest, i.epoch != s.x.epoch])


def sessions_of_x(s, i, world):
    # Touches of former connections come at any time, and each overwrites the clock. Sections 1, 5.
    yield Step("an old touch reaches X", change(s, x=dict(clock=s.now + i.length)),
               [s.x.leads, Not(s.x.taken), i.length >= world.touch])
    yield Step("X takes the session out of its queue", change(s, x=dict(taken=True, taken_at=s.now)),
               [s.x.leads, Not(s.x.taken), s.now >= s.x.clock])
    yield Step("X marks the session closing", change(s, x=dict(closing=True)), [s.x.taken, Not(s.x.closing)])
    # A close that the next epoch inherits counts as committed right before that epoch. Section 2.
    yield Step("X closes the session", change(s, x=dict(closed=True)),
               [s.x.closing, Not(s.x.closed), s.highest == s.x.epoch])


def passes_prep(s, leader, world):
    """X refuses what it checks once it has marked the session, which it does within the window."""
    in_time = Implies(s.x.taken, s.now < s.x.taken_at + world.window)
    return Implies(leader == s.x.epoch, And(Not(s.x.closing), in_time))


def serves(s, leader, world):
    return True if world.deposed else s.highest == leader


def connections(s, i, world):
    # The leader checks a handshake, and that touches the session there (REVALIDATE). Sections 1, 5.
    x, rules = s.x, world.rules
    to_x, closed_before = i.epoch == x.epoch, And(i.epoch > x.epoch, x.closed)
    guard = [Not(s.connection.open), Not(s.at_read_only), i.epoch <= s.highest, s.heard_at <= i.sent_at, i.sent_at <= s.now,
             Implies(to_x, And(x.leads, Not(x.closing))), Not(closed_before), serves(s, i.epoch, world),
             i.length >= world.own_touch]
    if world.grade == CONTACT:
        guard.append(passes_prep(s, i.epoch, world))
    clock = If(And(to_x, Not(x.taken)), s.now + i.length, x.clock)
    yield Step("the leader takes a handshake", change(s, x=dict(clock=clock), handshake=Handshake(True, i.epoch, i.sent_at)),
               guard)

    sent_at = s.handshake.sent_at
    lease = rules.accepted(rules.lapses(s.lease, s.now), sent_at)
    connection = Connection(True, s.handshake.leader, i.length, i.sent_at, i.a, i.b)
    request = change(s.request, kind=NOTHING)
    resumed = rules.lapses(rules.resume(lease, s.now, sent_at), s.now)
    # The marks of pairs, if any are left, belong to another connection.
    resumed = change(resumed, evidence=dict(newer=dict(mark=i.b), older=dict(mark=i.b)))
    vouched = If(And(world.grade == CONTACT, resumed.state == PROVED), s.handshake.leader, s.vouched)
    yield Step("the client has its connection", change(s, connection=connection, request=request, heard_at=s.now,
               at_read_only=False, lease=resumed, vouched=vouched, handshake=dict(on_its_way=False)),
               [s.handshake.on_its_way, i.sent_at <= i.length, i.length <= s.now, i.sent_at <= i.a, i.b <= i.a, i.a <= s.now])

    refused = rules.set_read_only(rules.accepted(rules.lapses(s.lease, s.now), i.sent_at))
    yield Step("a read-only server takes the client",
               change(s, at_read_only=True, heard_at=s.now, lease=refused, handshake=dict(on_its_way=False)),
               [Not(s.connection.open), s.heard_at <= i.sent_at, i.sent_at <= s.now])
    # It has no leader, so it takes no heartbeats; under Contact its answers would count.
    answered = rules.answered(rules.lapses(s.lease, s.now), s.now, i.sent_at)
    yield Step("a read-only server answers", change(s, heard_at=s.now, lease=answered),
               [s.at_read_only, s.heard_at <= i.sent_at, i.sent_at <= s.now, Not(s.handshake.on_its_way)])
    yield Step("the connection to a read-only server breaks", change(s, at_read_only=False), [s.at_read_only])
    yield Step("the connection breaks", change(s, connection=dict(open=False), request=dict(kind=NOTHING), write=dict(answered=False)),
               [s.connection.open])


def heartbeats(s, i, world):
    rules, request, unconfirmed = world.rules, s.request, s.lease.evidence.unconfirmed
    # F enters the touch into its table, and sends the request on behind all answers to pings. Sections 1, 3.
    lost = And(i.lost, s.now == s.connection.swapped)
    reaches_f = [s.connection.open, request.kind == NOTHING, s.heard_at <= i.sent_at, i.sent_at <= s.now,
                 Or(lost, And(Not(i.lost), s.now > s.connection.swapped))]
    sent = lambda kind, check: change(s, request=Request(kind, i.sent_at, check, s.now, i.lost, s.connection.swapped, False,
                                                         s.connection.pinged))
    none_lost = [Not(i.lost)] if world.losses == "none" else []
    one_lost = [Not(And(i.lost, unconfirmed.lost))] if world.losses == "one" else []
    yield Step("a heartbeat reaches F", sent(HEARTBEAT, i.yes), reaches_f + [Not(unconfirmed.some)] + none_lost)
    yield Step("a confirmation reaches F", sent(CONFIRMATION, False),
               reaches_f + [unconfirmed.some, i.sent_at == unconfirmed.answered_at] + none_lost + one_lost)

    # L works on its requests behind the answers to pings that came before them. Section 3. A quorum commits a check.
    is_check = And(request.kind == HEARTBEAT, request.check)
    committed = And(s.highest == s.connection.leader, world.refusals_count or passes_prep(s, s.connection.leader, world))
    guard = [s.connection.open, Or(request.kind == HEARTBEAT, request.kind == CONFIRMATION), Not(request.worked_on),
             s.now - s.connection.pinged <= world.gap, serves(s, s.connection.leader, world),
             Implies(is_check, committed)]
    if world.pings_before_requests:
        guard.append(s.connection.arrived >= request.behind)
    yield Step("L works on the request", change(s, request=dict(worked_on=True, ping=s.connection.pinged)), guard)

    # The answer comes behind L's pings, and F has answered these before it passes the answer on. Section 3.
    guard = [s.connection.open, request.worked_on]
    if world.pings_before_answers:
        guard.append(s.connection.answered >= request.ping)
    lease = rules.lapses(s.lease, s.now)
    heard = change(s, request=dict(kind=NOTHING), heard_at=s.now)
    after = rules.heartbeat_answered(lease, s.now, request.sent_at, request.check, i.yes, request.touched_at, request.lost)
    yield Step("the heartbeat is answered", vouched_for(heard, after, request.check, world),
               guard + [request.kind == HEARTBEAT])
    mark = If(unconfirmed.lost, If(request.lost, NEVER, request.touched_at), unconfirmed.mark)
    after = rules.confirmed(lease, s.now, mark)
    yield Step("the confirmation is answered",
               vouched_for(heard, after, And(unconfirmed.check, unconfirmed.has_handed_over), world,
                           unconfirmed.has_handed_over), guard + [request.kind == CONFIRMATION])
    # The client sends another one, soon.
    yield Step("the heartbeat is refused", change(s, request=dict(kind=NOTHING)),
               [s.connection.open, request.kind == HEARTBEAT])
    yield Step("the confirmation is refused",
               change(s, request=dict(kind=NOTHING), lease=rules.not_confirmed(s.lease)), [s.connection.open, unconfirmed.some])


def writes(s, i, world):
    # Like a check, but beside heartbeats, in any order with them, and no touch of it is counted.
    leader = s.connection.leader
    yield Step("a quorum commits a write", change(s, write=Write(True, i.sent_at)),
               [s.connection.open, i.sent_at <= s.now, s.highest == leader, passes_prep(s, leader, world)])
    after = world.rules.committed(world.rules.lapses(s.lease, s.now), s.now, s.write.sent_at)
    yield Step("the write is answered", vouched_for(change(s, write=dict(answered=False)), after, True, world),
               [s.connection.open, s.write.answered])


NEVER = Fraction(10**6)


def vouched_for(s, lease, check, world, counts=True):
    """Notes the leader that has answered what counts: under Quorum, a check."""
    counts = check if world.grade == QUORUM else counts
    return change(s, lease=lease, vouched=If(And(counts, lease.state == PROVED), s.connection.leader, s.vouched))


def pings(s, i, world):
    # Half a tick apart; `World.gap` says what that comes to. F answers each with the touches since the last. Section 3.
    evidence, request, connection = s.lease.evidence, s.request, s.connection
    yield Step("L pings F", change(s, connection=dict(pinged=s.now)), [connection.open])
    yield Step("F answers a ping", change(s, connection=dict(answered=i.length, swapped=s.now)),
               [connection.open, connection.answered < i.length, i.length <= connection.pinged])
    comes = lambda mark: And(connection.arrived < mark, mark <= i.a)
    unconfirmed = evidence.unconfirmed
    brings = Or(And(evidence.pairs != NONE, comes(evidence.newer.mark)), And(evidence.pairs == TWO, comes(evidence.older.mark)),
                And(unconfirmed.some, Not(unconfirmed.lost), comes(unconfirmed.mark)),
                And(unconfirmed.some, unconfirmed.has_handed_over, comes(unconfirmed.handed_over_mark)),
                And(request.kind != NOTHING, Not(request.lost), comes(request.touched_at)))
    touches = And(connection.leader == s.x.epoch, Not(s.x.taken), Or(brings, i.yes))
    yield Step("F's touches reach L", change(s, connection=dict(arrived=i.a), x=dict(clock=If(touches, s.now + i.length, s.x.clock))),
               [connection.open, connection.arrived < i.a, i.a <= connection.swapped, i.length >= world.own_touch])


def requests_that_count_at_once(s, i, world):
    """Under Contact any answer counts. One server touches the session before it works on a request; a member of an
    ensemble answers by itself. `request` is any one of the answers that are on their way."""
    touches = And(s.connection.leader == s.x.epoch, Not(s.x.taken))
    guard = [s.connection.open, s.handshake.sent_at <= i.sent_at, i.sent_at <= s.now]
    request = change(s.request, kind=ANY, sent_at=i.sent_at, worked_on=True)
    if world.one_server:
        guard += [serves(s, s.connection.leader, world), passes_prep(s, s.connection.leader, world), i.length >= world.own_touch]
        after = change(s, request=request, x=dict(clock=If(touches, s.now + i.length, s.x.clock)))
    else:
        after = change(s, request=request)
    yield Step("the server answers a request", after, guard)

    lease = world.rules.answered(world.rules.lapses(s.lease, s.now), s.now, s.request.sent_at)
    yield Step("the client has the answer", vouched_for(change(s, heard_at=s.now), lease, True, world),
               [s.connection.open, s.request.kind == ANY])


def excluded_events(s, i, world):
    """What README.md's conditions exclude, and what other servers do (`World.events`)."""
    moved = change(s, x=dict(clock=s.now + i.length))
    running = [s.x.leads, Not(s.x.taken)]
    known = {
        "a snapshot without the session is restored": (change(s, x=dict(closed=True)), [s.x.leads, s.highest == s.x.epoch]),
        "a member shuts down, and closes its sessions": (change(s, x=dict(closed=True)), [s.connection.open, s.highest == s.x.epoch]),
        "X's wall clock is set forward": (change(s, x=dict(clock=s.x.clock - i.length)), [s.x.leads, i.length >= 0]),
        "a member's absolute time of expiry reaches X": (moved, running + [i.length >= 0]),
        "a stranger takes the session over, with T/2": (moved, running + [i.length >= world.touch / 2]),
        # F is an observer, and the member that it follows hands its touches on with an answer to a later ping.
        "F's touches reach the ObserverMaster":
            (change(s, connection=dict(arrived=i.a)),
             [s.connection.open, s.connection.arrived < i.a, i.a <= s.connection.swapped]),
        "a member that grants 2T/3 takes a handshake, and its answer is lost":
            (moved, running + [Not(s.connection.open), i.length >= world.touch * 2 / 3]),
    }
    for name in world.events:
        after, guard = known[name]
        yield Step(name, after, guard)
