"""The client: `session/src/lease.rs` and `session/src/lease/evidence.rs`, function by function, by the same names.

Two things differ. `mark` rides along for the proof; the client never reads it. And the record of the times
that answers take (`RoundTrips`) is missing: it decides when to send, never what is proved.
"""
from dataclasses import replace

from logic import And, Flag, If, Implies, Not, Or, Tag, Time, earlier, later, lift, record

UNPROVED, SETTLING, PROVED = range(3)
NONE, ONE, TWO = range(3)
CONTACT, SYNC, QUORUM = "Contact", "Sync", "Quorum"


@record
class Pair:
    sent_at: Time
    ripe_at: Time
    mark: Time  # when the touch of the pair that was not lost reached the server


@record
class Unconfirmed:
    some: Flag
    sent_at: Time
    answered_at: Time
    check: Flag
    has_handed_over: Flag
    handed_over: Time
    mark: Time
    lost: Flag
    handed_over_mark: Time


@record
class Evidence:
    has_handshake: Flag
    handshake: Time
    pairs: Tag  # NONE, ONE (newer) or TWO
    older: Pair
    newer: Pair
    unconfirmed: Unconfirmed


@record
class Lease:
    read_only: Flag
    state: Tag  # UNPROVED, SETTLING (deadline, settles_at), PROVED (by_leader, by_quorum)
    by_leader: Time
    has_by_quorum: Flag
    by_quorum: Time
    tentative: Time
    settles_at: Time
    evidence: Evidence


@record
class Parts:
    """What the client makes of the least timeout."""
    lease: Time  # LeaseMargin::shorten
    ripening: Time  # evidence.rs, RIPENING_PART
    settling: Time  # lease.rs, SETTLING_PART


class Client:
    """The rules of one grade. A subclass breaks one rule: see `broken_rules.py`."""
    # What some broken rules make of the invariant.
    any_answer_settles = False
    pairs_survive = False

    def __init__(self, grade, parts):
        self.grade, self.parts = grade, parts

    # ---------------------------------------------------------------- lease.rs

    def deadline(self, lease):
        """Returns whether there is a deadline, and the deadline."""
        if self.grade == QUORUM:
            return And(lease.state == PROVED, lease.has_by_quorum), lease.by_quorum
        return lease.state == PROVED, lease.by_leader

    def lapses(self, lease, now):
        has_by_quorum = And(lease.has_by_quorum, now < lease.by_quorum)
        state = If(And(lease.state == PROVED, lease.by_leader <= now), UNPROVED, lease.state)
        return replace(lease, has_by_quorum=has_by_quorum, state=state)

    def accepted(self, lease, sent_at):
        some, deadline = self.deadline(lease)
        shortened = earlier(deadline, self.deadline_after(sent_at))
        return replace(self.proved(lease, shortened), state=If(some, PROVED, UNPROVED),
                       evidence=self.no_evidence(lease.evidence))

    def no_evidence(self, evidence):
        return replace(evidence, has_handshake=False, pairs=NONE, unconfirmed=replace(evidence.unconfirmed, some=False))

    def begin(self, lease, sent_at):
        return replace(self.proved(lease, self.deadline_after(sent_at)), read_only=False)

    def resume(self, lease, now, sent_at):
        lease = replace(lease, read_only=False)
        if self.grade == CONTACT:
            return self.prove(lease, now, sent_at)
        return replace(lease, evidence=replace(lease.evidence, has_handshake=True, handshake=sent_at))

    def set_read_only(self, lease):
        return replace(lease, read_only=True)

    def no_proof(self, lease):
        """A server of another family: two steps of the model at once."""
        return self.set_read_only(self.end(lease))

    def answered(self, lease, now, sent_at):
        if self.grade != CONTACT:
            return lease
        return self.prove(self.settle(lease, now, sent_at), now, sent_at)

    def heartbeat_answered(self, lease, now, sent_at, check, counts, mark=0, lost=False):
        """`counts`: evidence.rs answers `Followup::Confirm`. The proof lets it be anything; see `due`."""
        lease = If(check, self.settle(lease, now, sent_at), lease)
        proved = self.prove(lease, now, lease.evidence.handshake)
        lease = If(lease.evidence.has_handshake, proved, lease)
        lease = replace(lease, evidence=replace(lease.evidence, has_handshake=False))
        lease = self.vouch(lease, check)
        some, at, its_mark = self.handed_over(lease.evidence, sent_at)
        unconfirmed = Unconfirmed(True, sent_at, now, check, some, at, mark, lost, its_mark)
        return If(counts, replace(lease, evidence=replace(lease.evidence, unconfirmed=unconfirmed)), lease)

    def confirmed(self, lease, now, mark=0):
        unconfirmed = lease.evidence.unconfirmed
        counted = replace(lease, evidence=self.with_pair(lease.evidence, now, mark))
        proved = self.vouch(self.prove(counted, now, unconfirmed.handed_over), unconfirmed.check)
        return If(unconfirmed.some, If(unconfirmed.has_handed_over, proved, counted), lease)

    def committed(self, lease, now, sent_at):
        settled = self.settle(lease, now, sent_at)
        vouched = earlier(settled.by_leader, self.deadline_after(sent_at))
        by_quorum = If(settled.has_by_quorum, later(settled.by_quorum, vouched), vouched)
        longer = replace(settled, has_by_quorum=True, by_quorum=by_quorum)
        return If(And(settled.state == PROVED, now < vouched), longer, settled)

    def not_confirmed(self, lease):
        evidence = lease.evidence
        return replace(lease, evidence=replace(evidence, unconfirmed=replace(evidence.unconfirmed, some=False)))

    def end(self, lease):
        return replace(lease, state=UNPROVED)

    def settle(self, lease, now, sent_at):
        state = If(now < lease.tentative, PROVED, UNPROVED)
        settled = replace(lease, state=state, by_leader=lease.tentative, has_by_quorum=False)
        return If(And(lease.state == SETTLING, sent_at >= lease.settles_at), settled, lease)

    def vouch(self, lease, check):
        vouched = replace(lease, has_by_quorum=True, by_quorum=lease.by_leader)
        return If(And(lease.state == PROVED, check), vouched, lease)

    def prove(self, lease, now, sent_at):
        claimed = self.deadline_after(sent_at)
        extended = replace(lease, by_leader=later(lease.by_leader, claimed))
        still = replace(lease, tentative=later(lease.tentative, claimed))
        first = replace(lease, state=SETTLING, tentative=claimed, settles_at=now + self.parts.settling)
        settling = If(And(lease.state == SETTLING, now < lease.tentative), still, first)
        proved = If(lease.state == PROVED, extended, settling)
        return If(Or(lease.read_only, claimed <= now), lease, proved)

    def deadline_after(self, sent_at):
        return sent_at + self.parts.lease

    def proved(self, lease, deadline):
        return replace(lease, state=PROVED, by_leader=deadline, has_by_quorum=True, by_quorum=deadline)

    # ---------------------------------------------------------------- evidence.rs

    def due(self, evidence, pace):
        """Returns whether another heartbeat counts only when one is due, and when it is."""
        half_ripe = lambda pair: pair.sent_at + (pair.ripe_at - pair.sent_at) / 2
        one = evidence.newer.ripe_at if pace == "Thirds" else half_ripe(evidence.newer)
        two = later(evidence.older.ripe_at, half_ripe(evidence.newer))
        return evidence.pairs != NONE, If(evidence.pairs == ONE, one, two)

    def ripe_at(self, unconfirmed, now):
        return now + self.parts.ripening

    def with_pair(self, evidence, now, mark):
        """`Evidence::confirmed`: the pair that was handed over goes (`Pairs::after`), a new one comes
        (`Pairs::followed_by`)."""
        unconfirmed = evidence.unconfirmed
        proved = lambda pair: And(unconfirmed.has_handed_over, pair.sent_at <= unconfirmed.handed_over)
        after = If(And(evidence.pairs != NONE, proved(evidence.newer)), NONE,
                   If(And(evidence.pairs == TWO, proved(evidence.older)), ONE, evidence.pairs))
        pair = Pair(unconfirmed.sent_at, self.ripe_at(unconfirmed, now), mark)
        return replace(evidence, pairs=If(after == NONE, ONE, TWO), older=evidence.newer, newer=pair,
                       unconfirmed=replace(unconfirmed, some=False))

    def handed_over(self, evidence, sent_at):
        """`Pairs::handed_over`: whether, when it was sent, and its mark."""
        newer = And(evidence.pairs != NONE, evidence.newer.ripe_at <= sent_at)
        older = And(evidence.pairs == TWO, evidence.older.ripe_at <= sent_at)
        pair = If(newer, evidence.newer, evidence.older)
        return Or(newer, older), pair.sent_at, pair.mark
