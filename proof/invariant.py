"""The theorem, and the invariant that proves it by induction."""
from client import CONTACT, NONE, ONE, PROVED, QUORUM, SETTLING, SYNC, TWO
from ensemble import ANY, CONFIRMATION, HEARTBEAT, NOTHING
from logic import And, If, Implies, Not, Or


def theorem(s, world):
    """While the deadline has not passed on the client's clock, the session is not closed."""
    some, deadline = world.rules.deadline(s.lease)
    return Implies(And(some, s.now < deadline), Not(s.x.closed))


def made(s, world):
    """A session that a quorum has just made, by a handshake sent before `now`: `Lease::begin`."""
    lease, x = s.lease, s.x
    return And(quiet(s), s.connection.open, lease.state == PROVED, lease.has_by_quorum, lease.by_leader == lease.by_quorum,
               lease.by_quorum == s.handshake.sent_at + world.parts.lease, s.handshake.sent_at <= s.now,
               s.vouched == s.highest, s.connection.leader == s.highest, Not(x.closed), Not(x.closing), Not(x.taken),
               x.leads == (x.epoch == s.highest), Implies(x.leads, x.clock >= s.handshake.sent_at + world.touch))


def resumed(s, world):
    """A process that takes a session over by its ticket: nothing is proved."""
    x = s.x
    return And(quiet(s), s.lease.state == 0, Not(s.connection.open), s.vouched <= s.highest,
               Implies(x.leads, x.epoch <= s.highest), Implies(x.taken, And(x.leads, x.taken_at <= s.now)),
               Implies(x.closing, x.taken), Implies(x.closed, x.closing))


def quiet(s):
    """Nothing is on its way, and the client has no evidence."""
    evidence, c = s.lease.evidence, s.connection
    return And(Not(s.handshake.on_its_way), s.request.kind == NOTHING, Not(s.write.answered), Not(s.request.worked_on), Not(evidence.has_handshake),
               evidence.pairs == NONE, Not(evidence.unconfirmed.some), s.heard_at == s.now, Not(s.lease.read_only), Not(s.at_read_only),
               c.answered <= c.pinged, c.pinged <= s.now, c.answered <= c.swapped, c.swapped <= s.now, c.arrived <= c.swapped)


def invariant(s, world):
    """Returns the facts that hold in each state, by name. `here`: the connection's leader is X."""
    x, c, lease, request, handshake = s.x, s.connection, s.lease, s.request, s.handshake
    evidence, unconfirmed = lease.evidence, lease.evidence.unconfirmed
    full, gap, window = world.parts.lease, world.gap, world.window
    here, in_x = And(c.open, c.leader == x.epoch), lambda leader: leader == x.epoch

    # X has not taken the session out before `until`.
    lives = lambda until: If(x.taken, x.taken_at >= until, x.clock >= until)
    # A touch that was sent at `at` has set X's clock, or came too late.
    touched = lambda at: Or(x.taken, x.clock >= at + full)
    # X can commit nothing any more.
    harmless = And(s.highest > x.epoch, Not(x.closed))
    # L was leader after `at`: a later leader's clock started after that, an earlier one is harmless.
    led_after = lambda leader, at: And(s.vouched <= leader, leader <= s.highest,
                                       Implies(And(leader < x.epoch, x.leads), lives(at + full)),
                                       Implies(x.epoch < leader, harmless))
    vouches = lambda check: check if world.grade == QUORUM else True
    # X marked the session so long ago that no check passes: only where a rule is dropped.
    too_late = And(world.rules.any_answer_settles, x.taken, x.taken_at + window <= s.heard_at,
                   Not(And(unconfirmed.some, unconfirmed.check)))
    some, deadline = world.rules.deadline(lease)
    in_flight = Or(request.kind == HEARTBEAT, request.kind == CONFIRMATION)

    facts = {
        "times are in order": And(
            c.answered <= c.pinged, c.pinged <= s.now, c.answered <= c.swapped, c.swapped <= s.now, c.arrived <= c.swapped,
            s.heard_at <= s.now, s.vouched <= s.highest, Implies(c.open, c.leader <= s.highest),
            Implies(x.leads, x.epoch <= s.highest), 0 <= evidence.pairs, evidence.pairs <= 2, 0 <= lease.state,
            lease.state <= 2, 0 <= request.kind, request.kind <= 3),
        "X goes from step to step": And(
            Implies(Not(x.leads), And(Not(x.taken), Not(x.closed))), Implies(x.taken, x.taken_at <= s.now),
            Implies(x.closing, x.taken), Implies(x.closed, x.closing)),
        "a read-only server": Implies(s.at_read_only, And(Not(c.open), lease.read_only, lease.state != SETTLING)),
        "the deadline": Implies(some, And(
            deadline <= lease.by_leader, Implies(And(s.vouched <= x.epoch, x.leads), lives(deadline)),
            Implies(x.epoch < s.vouched, harmless))),
        "the deadline by the leader": Implies(lease.state == PROVED, And(
            lease.by_leader <= s.heard_at + full,
            Implies(And(here, s.vouched <= x.epoch), Or(lives(lease.by_leader), too_late)))),
        "the tentative deadline": Implies(lease.state == SETTLING, And(
            lease.tentative <= s.heard_at + full,
            Implies(here, Or(lives(lease.tentative), And(x.taken, x.taken_at + window <= lease.settles_at))))),
        "the handshake": And(
            Implies(evidence.has_handshake, And(evidence.handshake <= s.heard_at, Implies(here, touched(evidence.handshake)))),
            Implies(here, x.leads), Implies(And(c.open, x.epoch < c.leader), harmless),
            Implies(And(handshake.on_its_way, x.epoch < handshake.leader), harmless),
            Implies(handshake.on_its_way, And(
                Not(c.open), s.heard_at <= handshake.sent_at, handshake.sent_at <= s.now, handshake.leader <= s.highest,
                Implies(in_x(handshake.leader), And(x.leads, touched(handshake.sent_at)))))),
        "the pairs": And(*(Implies(
            And(Or(c.open, world.rules.pairs_survive), evidence.pairs >= least),
            And(pair.sent_at <= s.heard_at, Or(pair.mark <= pair.ripe_at - gap, pair.mark <= c.arrived),
                Implies(And(here, pair.mark <= c.arrived), touched(pair.sent_at))))
            for least, pair in ((ONE, evidence.newer), (TWO, evidence.older)))),
        "the unconfirmed heartbeat": Implies(And(c.open, unconfirmed.some), And(
            unconfirmed.sent_at <= unconfirmed.mark, unconfirmed.mark <= unconfirmed.answered_at,
            unconfirmed.answered_at <= s.heard_at,
            Implies(lease.state == PROVED, lease.by_leader <= unconfirmed.sent_at + full),
            Implies(lease.state == SETTLING, lease.tentative <= unconfirmed.sent_at + full),
            Implies(And(here, Not(unconfirmed.lost), unconfirmed.mark <= c.arrived), touched(unconfirmed.sent_at)),
            Implies(unconfirmed.has_handed_over, And(
                unconfirmed.handed_over <= unconfirmed.sent_at, unconfirmed.handed_over_mark <= c.swapped,
                Implies(And(here, unconfirmed.handed_over_mark <= c.arrived), touched(unconfirmed.handed_over)))),
            Implies(vouches(unconfirmed.check), led_after(c.leader, unconfirmed.sent_at)))),
        "the request": Implies(in_flight, And(
            c.open, s.heard_at <= request.sent_at, request.sent_at <= request.touched_at, request.touched_at <= s.now,
            request.behind <= c.swapped, unconfirmed.some == (request.kind == CONFIRMATION),
            Implies(request.worked_on, And(c.arrived >= request.behind, request.ping <= c.pinged,
                                           request.ping >= request.sent_at - gap)),
            Implies(And(here, Not(request.lost), request.touched_at <= c.arrived),
                    touched(If(request.kind == HEARTBEAT, request.sent_at, unconfirmed.sent_at))),
            Implies(request.kind == CONFIRMATION, And(
                Implies(unconfirmed.lost, Not(request.lost)),
                Implies(unconfirmed.has_handed_over, unconfirmed.handed_over_mark <= request.behind))),
            Implies(And(request.kind == HEARTBEAT, request.worked_on, vouches(request.check)),
                    led_after(c.leader, request.sent_at)),
            Implies(And(request.kind == HEARTBEAT, request.worked_on, request.check, here, x.taken),
                    request.sent_at < x.taken_at + window))),
    }
    if world.grade != CONTACT:
        facts["the write"] = Implies(s.write.answered, And(
            c.open, s.write.sent_at <= s.now, led_after(c.leader, s.write.sent_at),
            Implies(And(here, x.taken), s.write.sent_at < x.taken_at + window)))
    if world.grade == SYNC:
        # A write settles what was proved while it was on its way, too.
        facts["the tentative deadline under Sync"] = Implies(
            And(c.open, lease.state == SETTLING), led_after(c.leader, lease.tentative - full))
    if world.losses == "none":
        facts["no touch is lost"] = And(Implies(unconfirmed.some, Not(unconfirmed.lost)), Implies(in_flight, Not(request.lost)))
    if world.grade == CONTACT:
        reached = lambda at: And(touched(at), Implies(x.taken, at < x.taken_at + window))
        facts["an answer under Contact"] = And(
            Not(unconfirmed.some), Not(evidence.has_handshake), Not(in_flight),
            Implies(request.kind == ANY, And(c.open, request.sent_at <= s.now, led_after(c.leader, request.sent_at),
                                             Implies(here, reached(request.sent_at)))),
            # A ping's answer may overtake that of an earlier request, which then settles more than it proves.
            Implies(And(c.open, lease.state == SETTLING), led_after(c.leader, lease.tentative - full)),
            Implies(handshake.on_its_way, led_after(handshake.leader, handshake.sent_at)))
    return facts
