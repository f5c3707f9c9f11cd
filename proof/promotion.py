"""Why a promotion needs no second look: docs/design.md, "The election in four steps".

A nominee has a candidate of its own, and its predecessor is deleted: it leads, and sends nothing. The theorem: at that
position of ZooKeeper's log its candidate stands, and no lower candidate stands there or at any later position.

Positions of the log are whole numbers; each has one change. `view` is what the server of the nominee's connection has
applied. P is the predecessor, Q any other candidate: what is proved for Q is proved for all.
"""
from dataclasses import replace

from ensemble import Step, change
from induction import induction, solve
from logic import And, Flag, If, Implies, Not, Or, Tag, equal, fresh, record, value

STANDING, FOLLOWING, FIRST, LEADING, EVICTED = range(5)


@record
class Candidate:
    made: Flag
    at: Tag
    number: Tag
    gone: Flag
    gone_at: Tag


@record
class Watch:
    armed: Flag
    due: Flag  # the server owes an event: only where a rule is dropped


@record
class State:
    head: Tag  # the last position of the log
    next: Tag  # the next number that the server gives
    view: Tag
    own: Candidate
    p: Candidate
    q: Candidate
    nominee: Tag
    listed_at: Tag
    nobody: Flag  # P was the only candidate in the way at the last list
    own_watch: Watch
    p_watch: Watch
    led_at: Tag


@record
class Inputs:
    view: Tag
    number: Tag


def stands(c, at):
    return And(c.made, c.at <= at, Or(Not(c.gone), at < c.gone_at))


def lower(c, s):
    return c.number < s.own.number


def start(s):
    quiet = lambda watch: And(Not(watch.armed), Not(watch.due))
    return And(s.head == 0, s.view == 0, s.next == 0, Not(s.own.made), Not(s.p.made), Not(s.q.made), Not(s.own.gone),
               Not(s.p.gone), Not(s.q.gone), s.nominee == STANDING, quiet(s.own_watch), quiet(s.p_watch))


OFF = Watch(False, False)
ON = Watch(True, False)


def steps(s, i, without=""):
    has = lambda rule: rule != without
    yield from changes_of_the_log(s, i, has)
    yield from the_nominee_looks(s, has)
    yield from the_server_tells(s, i, has)


def changes_of_the_log(s, i, has):
    number = s.next if has("numbers only grow") else i.number
    for who in ("own", "p", "q"):
        c = getattr(s, who)
        name = {"own": "the nominee's candidate", "p": "P", "q": "Q"}[who]
        made = Candidate(True, s.head + 1, number, False, 0)
        yield Step(f"{name} is created", change(s, head=s.head + 1, next=s.next + 1, **{who: made}), [Not(c.made)])
        gone = dict(gone=True, gone_at=s.head + 1)
        yield Step(f"{name} is deleted", change(s, head=s.head + 1, **{who: gone}), [c.made, Not(c.gone)])


def the_nominee_looks(s, has):
    standing = s.nominee == STANDING
    # The list shows the own candidate, so it was made after it.
    own_is_there = [stands(s.own, s.view)] if has("the list shows the own candidate") else []
    p_is_lower = And(stands(s.p, s.view), Or(lower(s.p, s), not has("the list shows the own candidate")))
    q_is_lower = And(stands(s.q, s.view), Or(lower(s.q, s), not has("the list shows the own candidate")))
    listed = change(s, nominee=FOLLOWING, listed_at=s.view, nobody=Not(q_is_lower), p_watch=OFF)
    yield Step("it lists, P is the nearest", listed, [standing, p_is_lower] + own_is_there)
    # By the list alone, if none is lower.
    leads = change(s, nominee=LEADING, led_at=s.view, listed_at=s.view)
    yield Step("it lists, none is lower, it leads", leads, [standing, Not(p_is_lower), Not(q_is_lower)] + own_is_there)
    yield Step("it watches P", change(s, p_watch=ON), [s.nominee == FOLLOWING, stands(s.p, s.view)])
    yield Step("it finds no P to watch", change(s, nominee=STANDING), [s.nominee == FOLLOWING, Not(stands(s.p, s.view))])
    # The way is free, and it has not looked at its own candidate since.
    yield Step("it reads its own candidate, it leads", change(s, nominee=LEADING, led_at=s.view, own_watch=ON),
               [s.nominee == FIRST, stands(s.own, s.view)])
    yield Step("it watches its own candidate", change(s, own_watch=ON),
               [Or(standing, s.nominee == FOLLOWING), stands(s.own, s.view)])


def the_server_tells(s, i, has):
    at = s.view + 1
    goes = lambda c: And(c.made, c.gone, c.gone_at == at)
    in_order = has("events in the order of the log")
    follows = And(s.nominee == FOLLOWING, s.p_watch.armed)
    may_lead = And(Or(s.nobody, not has("nobody else was in the way")), Or(s.own_watch.armed, not has("the own watch")))
    applied, watched = change(s, view=at), [s.view < s.head]
    yield Step("the server applies a change that nobody watches", applied,
               watched + [Not(And(goes(s.own), s.own_watch.armed)), Not(And(goes(s.p), s.p_watch.armed))])
    own_goes, p_goes = And(goes(s.own), s.own_watch.armed), And(goes(s.p), s.p_watch.armed)
    leads = change(s, view=at, nominee=LEADING, led_at=at, p_watch=OFF)
    is_first = And(follows, s.nobody)
    first = change(s, view=at, nominee=FIRST, p_watch=OFF)
    looks = change(s, view=at, nominee=If(s.nominee == FOLLOWING, STANDING, s.nominee), p_watch=OFF)
    yield Step("its own candidate's deletion is reported", change(s, view=at, nominee=EVICTED, own_watch=OFF, p_watch=OFF),
               watched + [own_goes])
    yield Step("P's deletion is reported, it leads", leads, watched + [p_goes, follows, may_lead])
    yield Step("P's deletion is reported, the way is free", first, watched + [p_goes, is_first, Not(may_lead)])
    yield Step("P's deletion is reported, it lists again", looks, watched + [p_goes, Not(And(follows, may_lead)), Not(is_first)])
    if not in_order:
        yield from events_later(s, at, own_goes, p_goes, follows, may_lead)
    # Another connection: its server has applied what the nominee has seen.
    waits = Or(s.nominee == FOLLOWING, s.nominee == FIRST)
    moved = change(s, view=i.view, nominee=If(waits, STANDING, s.nominee), own_watch=OFF, p_watch=OFF)
    seen = [s.view <= i.view, i.view <= s.head]
    if has("a new connection voids the place"):
        yield Step("another connection", moved, seen)
    else:
        owes = lambda watch, c: Watch(watch.armed, Or(watch.due, And(watch.armed, Not(stands(c, i.view)))))
        kept = change(s, view=i.view, own_watch=owes(s.own_watch, s.own), p_watch=owes(s.p_watch, s.p))
        yield Step("another connection", kept, seen)
        yield from reports(s, follows, may_lead)


def events_later(s, at, own_goes, p_goes, follows, may_lead):
    yield Step("the server applies a deletion, and reports it later",
               change(s, view=at, own_watch=dict(due=Or(s.own_watch.due, own_goes)), p_watch=dict(due=Or(s.p_watch.due, p_goes))),
               [s.view < s.head, Or(own_goes, p_goes)])
    yield from reports(s, follows, may_lead)


def reports(s, follows, may_lead):
    yield Step("a deletion of P that is owed is reported, it leads", change(s, nominee=LEADING, led_at=s.view, p_watch=OFF),
               [s.p_watch.due, follows, may_lead])


def invariant(s):
    ordered = lambda one, other: Implies(And(one.made, other.made), And(
        one.at != other.at, one.number != other.number, (one.at < other.at) == (one.number < other.number),
        Implies(And(one.gone, other.gone), one.gone_at != other.gone_at)))
    sound = lambda c: And(Implies(c.made, And(0 < c.at, c.at <= s.head, c.number < s.next)),
                          Implies(c.gone, And(c.made, c.at < c.gone_at, c.gone_at <= s.head)))
    # Lower candidates were there when the own one was made; one that is gone stays so.
    alone = lambda c, at: Not(And(lower(c, s), stands(c, at)))
    return {
        "positions": And(0 <= s.view, s.view <= s.head, sound(s.own), sound(s.p), sound(s.q), ordered(s.own, s.p),
                         ordered(s.own, s.q), ordered(s.p, s.q), Not(s.own_watch.due), Not(s.p_watch.due)),
        "the way is free": Implies(s.nominee == FIRST, And(s.own.made, s.own.at <= s.view, alone(s.p, s.view), alone(s.q, s.view))),
        "the list": Implies(s.nominee == FOLLOWING, And(stands(s.own, s.listed_at), s.listed_at <= s.view,
                                                        Implies(s.nobody, alone(s.q, s.listed_at)))),
        "the own watch": Implies(s.own_watch.armed, stands(s.own, s.view)),
        "P's watch": Implies(s.p_watch.armed, And(s.nominee == FOLLOWING, stands(s.p, s.view))),
        "it leads": Implies(s.nominee == LEADING, And(s.led_at <= s.view, stands(s.own, s.led_at), alone(s.p, s.led_at),
                                                      alone(s.q, s.led_at))),
    }


def theorem(s):
    """At `led_at` its candidate stands; no lower one stands there or later."""
    never = lambda c: Not(And(lower(c, s), c.made, Or(Not(c.gone), c.gone_at > s.led_at)))
    return Implies(s.nominee == LEADING, And(stands(s.own, s.led_at), never(s.p), never(s.q)))


def obligations():
    s, n, i = fresh(State, "s"), fresh(State, "n"), fresh(Inputs, "i")
    return induction(start, steps(s, i), invariant, theorem, s, n)


OWN, P, Q = (f"{who} is created" for who in ("the nominee's candidate", "P", "Q"))
OWN_GOES, P_GOES, Q_GOES = (f"{who} is deleted" for who in ("the nominee's candidate", "P", "Q"))
APPLIED, LISTS, WATCHES, WATCHES_OWN = ("the server applies a change that nobody watches", "it lists, P is the nearest", "it watches P",
                                        "it watches its own candidate")
LEADS, LATER = "P's deletion is reported, it leads", "the server applies a deletion, and reports it later"
OWED = "a deletion of P that is owed is reported, it leads"

RULES = {
    "the list shows the own candidate": ("the nominee lists before its candidate is made; Q comes between",
        [P, APPLIED, LISTS, WATCHES, Q, OWN, APPLIED, APPLIED, WATCHES_OWN, P_GOES, LEADS]),
    "numbers only grow": ("Q is created later, with a lower number", [P, OWN, APPLIED, APPLIED, LISTS, WATCHES, WATCHES_OWN, Q, APPLIED,
                                                             P_GOES, LEADS]),
    "nobody else was in the way": ("Q stands before P", [Q, P, OWN, APPLIED, APPLIED, APPLIED, LISTS, WATCHES, WATCHES_OWN, P_GOES, LEADS]),
    "the own watch": ("the own candidate is deleted, and the nominee does not hear of it",
                      [P, OWN, APPLIED, APPLIED, LISTS, WATCHES, OWN_GOES, APPLIED, P_GOES, LEADS]),
    "events in the order of the log": ("the own candidate is deleted before P, and reported after it",
        [P, OWN, APPLIED, APPLIED, LISTS, WATCHES, WATCHES_OWN, OWN_GOES, P_GOES, LATER, LATER, OWED]),
    "a new connection voids the place": ("both are deleted while there is no connection; the next server reports P first",
        [P, OWN, APPLIED, APPLIED, LISTS, WATCHES, WATCHES_OWN, OWN_GOES, P_GOES, "another connection", OWED]),
}


def run(order, without):
    """Returns a run through the steps of `order` that breaks the theorem without one rule, on one line, or None."""
    states, facts = [fresh(State, "0")], []
    for k, name in enumerate(order):
        n, i = fresh(State, str(k + 1)), fresh(Inputs, f"i{k}")
        step = next(step for step in steps(states[-1], i, without) if step.name == name)
        facts += [*step.guard, equal(n, step.after)]
        states.append(n)
    solver = solve([start(states[0]), *facts, Not(theorem(states[-1]))])
    if str(solver.check()) != "sat":
        return None
    last = value(solver.model(), states[-1])
    told = "; ".join(order).replace("the server applies a change that nobody watches", "applied")
    return f"{told}. It leads at position {last.led_at}; own {where(last.own)}, P {where(last.p)}, Q {where(last.q)}"


def where(c):
    return f"{c.at}..{c.gone_at if c.gone else ''} (number {c.number})" if c.made else "never"
