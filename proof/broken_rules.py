"""The client with one rule broken: each class differs from `Client` in what its rule says, and nothing else."""
from dataclasses import replace

from client import CONTACT, PROVED, QUORUM, SETTLING, UNPROVED, Client, Pair
from logic import And, If, Not, Or, earlier, later


class CountsThePresentTimeout(Client):
    """It counts with the timeout of its connection, 1.5 times the least."""

    def deadline_after(self, sent_at):
        return sent_at + self.parts.lease * 3 / 2


class PairsProveThemselves(Client):
    """A heartbeat and its confirmation prove without a later heartbeat."""

    def handed_over(self, evidence, sent_at):
        return True, sent_at, self.mark

    def heartbeat_answered(self, lease, now, sent_at, check, counts, mark=0, lost=False):
        self.mark = mark
        return super().heartbeat_answered(lease, now, sent_at, check, counts, mark, lost)


class HeartbeatsWithoutConfirmation(Client):
    """The answer to a heartbeat counts at once."""

    def heartbeat_answered(self, lease, now, sent_at, check, counts, mark=0, lost=False):
        answered = super().heartbeat_answered(lease, now, sent_at, check, counts, mark, lost)
        return self.confirmed(answered, now, mark)


class RipeAfterTheHeartbeat(Client):
    """A pair ripens after the answer to its heartbeat, not after that to its confirmation."""

    def ripe_at(self, unconfirmed, now):
        return later(unconfirmed.answered_at + self.parts.ripening, now)


class RipeAtOnce(Client):
    def ripe_at(self, unconfirmed, now):
        return now


class PairsCountFromTheSecond(Client):
    """A pair counts from the sending of its confirmation."""

    def with_pair(self, evidence, now, mark):
        after = super().with_pair(evidence, now, mark)
        return replace(after, newer=replace(after.newer, sent_at=evidence.unconfirmed.answered_at))


class SyncsVouch(Client):
    """Under Quorum any answer by the leader makes its deadline the deadline."""

    def vouch(self, lease, check):
        return super().vouch(lease, True)


class WritesVouchForEverything(Client):
    """A write vouches for all that is proved when its answer comes, however early it was sent."""

    def committed(self, lease, now, sent_at):
        return self.vouch(self.settle(lease, now, sent_at), True)


class WritesSettleAtOnce(Client):
    """A write settles a tentative proof however soon it was sent."""

    def committed(self, lease, now, sent_at):
        return super().committed(lease, now, later(sent_at, lease.settles_at))


class EarlierCommitsVouch(Client):
    """A commit vouches for what is proved after it, too."""

    def prove(self, lease, now, sent_at):
        proved = super().prove(lease, now, sent_at)
        vouched = replace(proved, by_quorum=proved.by_leader)
        return If(And(lease.state == PROVED, lease.has_by_quorum), vouched, proved)


class DeadlinesByTheLeaderSurvive(Client):
    """The leader's deadline is kept on the next connection."""

    def accepted(self, lease, sent_at):
        state = If(lease.state == PROVED, PROVED, UNPROVED)
        return replace(lease, state=state, evidence=self.no_evidence(lease.evidence))


class PairsSurvive(Client):
    """The pairs of a connection count on the next one."""
    pairs_survive = True

    def no_evidence(self, evidence):
        return replace(super().no_evidence(evidence), pairs=evidence.pairs)


class TheClockComesLast(Client):
    """What is answered is looked at before the clock."""

    def lapses(self, lease, now):
        return lease


class LateEvidenceCounts(Client):
    """A deadline that is past already is taken in."""

    def prove(self, lease, now, sent_at):
        claimed = self.deadline_after(sent_at)
        extended = replace(lease, by_leader=later(lease.by_leader, claimed))
        still = replace(lease, tentative=later(lease.tentative, claimed))
        first = replace(lease, state=SETTLING, tentative=claimed, settles_at=now + self.parts.settling)
        settling = If(And(lease.state == SETTLING, now < lease.tentative), still, first)
        return If(lease.read_only, lease, If(lease.state == PROVED, extended, settling))


class LateProofsCountAtOnce(Client):
    def prove(self, lease, now, sent_at):
        proved = super().prove(lease, now, sent_at)
        at_once = replace(proved, state=PROVED, by_leader=proved.tentative, has_by_quorum=False)
        return If(And(lease.state != PROVED, proved.state == SETTLING), at_once, proved)


class SettlesAtOnce(Client):
    """A check settles a tentative proof however soon it was sent."""

    def prove(self, lease, now, sent_at):
        proved = super().prove(lease, now, sent_at)
        return If(And(lease.state == UNPROVED, proved.state == SETTLING), replace(proved, settles_at=now), proved)


class AnyAnswerSettles(Client):
    any_answer_settles = True

    def heartbeat_answered(self, lease, now, sent_at, check, counts, mark=0, lost=False):
        settled = self.settle(lease, now, sent_at)
        return super().heartbeat_answered(settled, now, sent_at, check, counts, mark, lost)


class TentativeDeadlinesGrowLate(Client):
    """Proofs extend a tentative deadline that has passed."""

    def prove(self, lease, now, sent_at):
        claimed = self.deadline_after(sent_at)
        still = replace(lease, tentative=later(lease.tentative, claimed))
        goes_on = And(lease.state == SETTLING, claimed > now, Not(lease.read_only))
        return If(goes_on, still, super().prove(lease, now, sent_at))


class TentativeProofsSurvive(Client):
    """A tentative proof is kept on the next connection."""

    def accepted(self, lease, sent_at):
        accepted = super().accepted(lease, sent_at)
        return replace(accepted, state=If(lease.state == SETTLING, SETTLING, accepted.state))


class HandshakesCountAtOnce(Client):
    """A handshake counts without a heartbeat behind it."""

    def resume(self, lease, now, sent_at):
        return self.vouch(self.prove(replace(lease, read_only=False), now, sent_at), True)


class ReadOnlyServersProve(Client):
    """A read-only server's answers count."""

    def set_read_only(self, lease):
        return lease
