"""Why tokens grow from leader to leader, and why a guarded write never comes late: no clock is in this.

The token is the `czxid` of the candidate: the position of the log at which it was made. P is any candidate that led,
B any that leads later. Both theorems: B's token is greater; once B leads, no guarded write of P takes effect.
"""
from ensemble import Step, change
from induction import induction, solve
from logic import And, Flag, If, Implies, Not, Or, Tag, equal, fresh, record, value


@record
class Candidate:
    made: Flag
    token: Tag
    number: Tag
    stands: Flag
    node: Tag  # the election node that it was made in: its own position


@record
class State:
    head: Tag
    node: Tag  # the position at which the election node was made
    node_stands: Flag
    next: Tag  # the number of the next child; a new node counts from 0
    p: Candidate
    b: Candidate
    p_led: Flag
    b_leads: Flag
    b_leads_at: Tag
    b_token: Tag  # what B's leader shows
    p_wrote_at: Tag


def start(s):
    return And(s.head == 0, Not(s.node_stands), Not(s.p.made), Not(s.b.made), Not(s.p.stands), Not(s.b.stands), Not(s.p_led),
               Not(s.b_leads), s.p_wrote_at == 0, s.next == 0)


def steps(s, without=""):
    has = lambda rule: rule != without
    at = s.head + 1
    empty = And(Not(s.p.stands), Not(s.b.stands))
    yield Step("the election node is made", change(s, head=at, node=at, node_stands=True, next=0), [Not(s.node_stands)])
    yield Step("the election node is deleted", change(s, head=at, node_stands=False),
               [s.node_stands] + ([empty] if has("no node with children is deleted") else []))
    for who in ("p", "b"):
        c, name = getattr(s, who), who.upper()
        made = Candidate(True, at, s.next, True, s.node)
        yield Step(f"{name} is created", change(s, head=at, next=s.next + 1, **{who: made}), [s.node_stands, Not(c.made)])
        yield Step(f"{name} is deleted", change(s, head=at, **{who: dict(stands=False)}), [c.stands])
    lower = lambda one, other: And(one.stands, one.number < other.number)
    yield Step("P leads", change(s, p_led=True), [s.p.stands, Not(lower(s.b, s.p)), Not(s.b_leads)])
    token = s.b.token if has("the token is the czxid") else s.b.number
    leads = change(s, b_leads=True, b_leads_at=s.head, b_token=token)
    yield Step("B leads", leads, [s.p_led, s.b.stands, Not(lower(s.p, s.b)), Not(s.b_leads)])
    # In a format without ids a nominee finds its candidate by its session. One that is no younger than its last
    # one is a leftover.
    if not has("what is found is younger than the last"):
        yield Step("P's nominee finds P again, and leads", change(s, b_leads=True, b_leads_at=s.head, b_token=s.p.token),
                   [s.p_led, s.p.stands, Not(s.b_leads)])
    checked = [s.p.stands] if has("a guarded write checks the candidate") else []
    yield Step("a guarded write of P is applied", change(s, head=at, p_wrote_at=at), [s.p_led] + checked)
    # A check is of a name. In a format without ids a name is a number, and a node that was made again counts from 0: such a
    # guard is refused (`GuardedTransaction`, `NamesRecur`).
    if not has("a guard's name never recurs"):
        yield Step("a guarded write of P finds B under P's name", change(s, head=at, p_wrote_at=at),
                   [s.p_led, s.b.stands, s.b.number == s.p.number])


def invariant(s):
    sound = lambda c: And(Implies(c.made, And(0 < c.node, c.node < c.token, c.token <= s.head)), Implies(c.stands, And(
        c.made, s.node_stands, c.node == s.node, c.number < s.next)))
    ordered = Implies(And(s.p.stands, s.b.stands), And(s.p.number != s.b.number,
                                                       (s.p.token < s.b.token) == (s.p.number < s.b.number)))
    return {
        "positions": And(0 <= s.head, Implies(s.node_stands, And(0 < s.node, s.node <= s.head)), sound(s.p), sound(s.b),
                         ordered, Implies(And(s.p.made, s.b.made), s.p.token != s.b.token), 0 <= s.p_wrote_at, s.p_wrote_at <= s.head),
        "P led": Implies(s.p_led, And(s.p.made, Implies(And(s.b.made, Not(s.b_leads)),
                                                        Or(Not(s.b.stands), s.p.token < s.b.token)))),
        "B leads": Implies(s.b_leads, And(s.p_led, s.b.made, s.b_token == s.b.token, s.p.token < s.b.token, Not(s.p.stands),
                                          s.p_wrote_at <= s.b_leads_at, s.b_leads_at <= s.head)),
    }


def theorem(s):
    return Implies(s.b_leads, And(s.p.token < s.b_token, s.p_wrote_at <= s.b_leads_at))


def obligations():
    s, n = fresh(State, "s"), fresh(State, "n")
    return induction(start, steps(s), invariant, theorem, s, n)


NODE, NODE_GOES, P, P_GOES, B = ("the election node is made", "the election node is deleted", "P is created", "P is deleted",
                                 "B is created")
P_LEADS, B_LEADS, WRITES = "P leads", "B leads", "a guarded write of P is applied"

RULES = {
    "the token is the czxid": ("the token is the number, and the node was made again",
                               [NODE, P, P_LEADS, P_GOES, NODE_GOES, NODE, B, B_LEADS]),
    "what is found is younger than the last": ("a nominee without an id steps down, finds the candidate that is still there, and "
        "leads with the same token", [NODE, P, P_LEADS, "P's nominee finds P again, and leads"]),
    "a guarded write checks the candidate": ("a write of P that is not guarded waits on its way", [NODE, P, P_LEADS, B, P_GOES, B_LEADS, WRITES]),
    "a guard's name never recurs": ("the node was made again, and B has P's name when a write of P comes late",
                                    [NODE, P, P_LEADS, P_GOES, NODE_GOES, NODE, B, B_LEADS,
                                     "a guarded write of P finds B under P's name"]),
    "no node with children is deleted": ("the node goes with P in it, and P's number is not the lowest in the next one",
                                         [NODE, P, P_LEADS, NODE_GOES, NODE, B, B_LEADS, WRITES]),
}


def run(order, without):
    states, facts = [fresh(State, "0")], []
    for k, name in enumerate(order):
        n = fresh(State, str(k + 1))
        step = next(step for step in steps(states[-1], without) if step.name == name)
        facts += [*step.guard, equal(n, step.after)]
        states.append(n)
    solver = solve([start(states[0]), *facts, Not(theorem(states[-1]))])
    if str(solver.check()) != "sat":
        return None
    last = value(solver.model(), states[-1])
    return f"{'; '.join(order)}. P's token {last.p.token}, B's {last.b_token}; P wrote at {last.p_wrote_at}, B leads from {last.b_leads_at} on"
