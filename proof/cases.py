"""The cases: each condition, each rule, each deviation of another server, with the order of events that breaks the
promise without it."""
from dataclasses import dataclass, field
from fractions import Fraction as F

import broken_rules as broken
from client import CONTACT, QUORUM, SYNC
from conditions import world
from logic import And
from runs import closed_early, in_force

ELECTED, OLD_TOUCH = "X is elected", "an old touch reaches X"
TAKEN, MARKED, CLOSED = END = ["X takes the session out of its queue", "X marks the session closing", "X closes the session"]
BREAKS, TAKES, CONNECTED = AGAIN = ["the connection breaks", "the leader takes a handshake", "the client has its connection"]
HB_F, AT_L, HB = HEARTBEAT = ["a heartbeat reaches F", "L works on the request", "the heartbeat is answered"]
CO_F, _, CO = CONFIRMATION = ["a confirmation reaches F", "L works on the request", "the confirmation is answered"]
PING, PONG, TOUCHES = PINGED = ["L pings F", "F answers a ping", "F's touches reach L"]
ASKED, ANSWERED = ANY = ["the server answers a request", "the client has the answer"]
REFUSED = "the confirmation is refused"
COMMITTED, WRITTEN = "a quorum commits a write", "the write is answered"
PAIR = HEARTBEAT + CONFIRMATION
LOST_PUT = [PING, PONG, HB_F, TOUCHES, AT_L, HB, PING, PONG, TOUCHES] + CONFIRMATION + PAIR + END


def before_the_next_ping(s, world, least):
    """The member has worked on all requests within half a tick after F's touches."""
    return And(closed_early(s, world, least), s.heard_at <= s.connection.swapped + world.gap)


@dataclass
class Case:
    name: str
    what: str
    different: dict
    order: list  # of the run that breaks the promise; empty: the theorem holds all the same
    goal: object = closed_early


CONDITIONS = [
    Case("margin", "the leader's clock gains 4 % more on the client's than the margin", dict(touch=F(86, 100)), [ELECTED] + END),
    Case("two ticks", "T is one tick, so pings are T/2 apart, though no touch is lost", dict(gap=F(1, 2), losses="none"),
         PAIR + PAIR + END),
    Case("pings: the rule of T/4", "T is two ticks, the leader's clock a tenth slow: pings 11 T/40 apart; ripe after T/4",
         dict(gap=F(11, 40), ripening=F(1, 4)), LOST_PUT),
    Case("pings: further apart", "pings a hundredth of T further apart than a pair takes to become ripe",
         dict(gap=F(1, 3) + F(1, 100)), LOST_PUT),
    Case("one touch of a pair", "the touches of a heartbeat and of its confirmation are both lost", dict(losses="both"),
         [PING, PONG, HB_F, TOUCHES, AT_L, HB, PING, PONG, CO_F, TOUCHES, AT_L, CO] + PINGED + PAIR + END),
    Case("no ObserverMaster", "four ticks; pings to F stall, and its touches reach a member that is cut off before the next ping",
         dict(gap=F(1, 8), losses="none", events=("F's touches reach the ObserverMaster",)),
         PAIR + [PING, HB_F, AT_L, PONG, "F's touches reach the ObserverMaster", HB] + CONFIRMATION + END, before_the_next_ping),
    Case("equal bounds", "a member grants less, and its answer to the handshake is lost",
         dict(events=("a member that grants 2T/3 takes a handshake, and its answer is lost",)),
         [BREAKS, "a member that grants 2T/3 takes a handshake, and its answer is lost"] + END),
    Case("sessions are closed in time", "X marks the session 1.1 T/12 after it has taken it out", dict(window=F(11, 120)),
         [TAKEN] + AGAIN + HEARTBEAT + [REFUSED] + HEARTBEAT + [MARKED, CLOSED]),
    Case("no restored snapshot", "a snapshot without the session is restored",
         dict(events=("a snapshot without the session is restored",)), ["a snapshot without the session is restored"]),
    Case("no stranger", "a stranger takes the session over, with a shorter timeout",
         dict(events=("a stranger takes the session over, with T/2",)), ["a stranger takes the session over, with T/2"] + END),
]

ORDER = [
    Case("F to L in order", "requests overtake the answers to pings", dict(pings_before_requests=False, losses="none"),
         PAIR + [PING, PONG] + PAIR + END),
    Case("L to F in order", "answers overtake pings", dict(pings_before_answers=False, losses="none"),
         PAIR + [HB_F, PING, AT_L, HB] + CONFIRMATION + END),
]

GRADES = [
    Case("Sync, a deposed leader", "grade Sync, where a leader that was deposed goes on answering", dict(grade=SYNC, deposed=True),
         [BREAKS, ELECTED, TAKES, CONNECTED] + HEARTBEAT + END),
    Case("Contact, an ensemble", "grade Contact, where a member answers by itself", dict(grade=CONTACT, one_server=False), ANY + END),
    Case("Contact, a deposed leader", "grade Contact, where a leader that was deposed goes on answering",
         dict(grade=CONTACT, deposed=True), [ELECTED] + ANY + END),
]

RULES = [
    Case("1 least timeout", "the client counts with 1.5 times the least timeout", dict(rule=broken.CountsThePresentTimeout,
         own_touch=F(108, 10) * F(3, 2)), AGAIN + HEARTBEAT + [ELECTED] + END),
    Case("2 a later heartbeat", "a pair proves itself", dict(rule=broken.PairsProveThemselves), PAIR + END),
    Case("2 confirmations", "a heartbeat counts without its confirmation", dict(rule=broken.HeartbeatsWithoutConfirmation),
         HEARTBEAT + [PING, HB_F, AT_L, PONG, HB, TAKEN, HB_F, MARKED, CLOSED]),
    Case("2 ripe after the confirmation", "a pair ripens after the answer to its heartbeat",
         dict(rule=broken.RipeAfterTheHeartbeat), LOST_PUT),
    Case("2 ripe", "a pair is ripe at once", dict(rule=broken.RipeAtOnce), PAIR + PAIR + END),
    Case("2 first of a pair", "a pair counts from its confirmation", dict(rule=broken.PairsCountFromTheSecond),
         [PING, HB_F, PONG, AT_L, TOUCHES, HB, PING, PONG, CO_F, TOUCHES, AT_L, CO] + PINGED + PAIR + END),
    Case("3 commits", "under Quorum a sync vouches, too", dict(rule=broken.SyncsVouch),
         [BREAKS, ELECTED, TAKES, CONNECTED] + HEARTBEAT + END),
    Case("3 commits after the proof", "a commit vouches for what is proved after it", dict(rule=broken.EarlierCommitsVouch),
         [BREAKS, ELECTED, TAKES, CONNECTED] + HEARTBEAT + END),
    Case("3 writes as far as they go", "a write vouches for what is proved while it is on its way",
         dict(rule=broken.WritesVouchForEverything), [COMMITTED, ELECTED] + PAIR + PINGED + PAIR + [WRITTEN] + END),
    Case("3 the leader's deadline", "what one leader has proved counts on the next connection",
         dict(rule=broken.DeadlinesByTheLeaderSurvive),
         [ELECTED] + AGAIN + HEARTBEAT + [BREAKS, TAKEN, TAKES, CONNECTED, HB_F, AT_L, MARKED, CLOSED, HB]),
    Case("3 the evidence of one connection", "pairs count on the next connection", dict(rule=broken.PairsSurvive), []),
    Case("4 the clock first", "an answer counts before the client has looked at its clock", dict(rule=broken.TheClockComesLast),
         PAIR + [TAKEN, PING, HB_F, AT_L, PONG, MARKED, CLOSED, TOUCHES, HB] + CONFIRMATION),
    Case("4 late evidence", "a deadline that is past already is taken in", dict(rule=broken.LateEvidenceCounts), []),
    Case("5 tentative", "a proof after the deadline counts at once", dict(rule=broken.LateProofsCountAtOnce),
         [TAKEN] + AGAIN + [HB_F, AT_L, MARKED, CLOSED, HB]),
    Case("5 settling", "a check that was sent at once settles", dict(rule=broken.SettlesAtOnce),
         [TAKEN] + AGAIN + HEARTBEAT + [REFUSED, HB_F, AT_L, MARKED, HB, CLOSED]),
    Case("5 settling by a write", "a write that was sent at once settles", dict(rule=broken.WritesSettleAtOnce),
         [TAKEN] + AGAIN + HEARTBEAT + [COMMITTED, MARKED, WRITTEN, CLOSED]),
    Case("5 a check, under Quorum", "any answer settles", dict(rule=broken.AnyAnswerSettles),
         [TAKEN] + AGAIN + HEARTBEAT + [REFUSED, COMMITTED, MARKED] + HEARTBEAT + [WRITTEN, CLOSED]),
    Case("5 a check, under Sync", "any answer settles", dict(grade=SYNC, rule=broken.AnyAnswerSettles),
         [TAKEN] + AGAIN + HEARTBEAT + [REFUSED] + HEARTBEAT + [MARKED, CLOSED]),
    Case("5 extended in time", "proofs extend a tentative deadline that has passed", dict(rule=broken.TentativeDeadlinesGrowLate),
         AGAIN + PAIR + [PING, PONG, TAKEN, TOUCHES] + PAIR + [HB_F, AT_L, MARKED, CLOSED, HB]),
    Case("6 a new connection", "a tentative proof counts on the next connection", dict(rule=broken.TentativeProofsSurvive),
         [ELECTED] + AGAIN + HEARTBEAT + [BREAKS, TAKEN, TAKES, CONNECTED, HB_F, AT_L, MARKED, CLOSED, HB]),
    Case("6 handshakes", "a handshake counts without a heartbeat behind it", dict(rule=broken.HandshakesCountAtOnce),
         [BREAKS, ELECTED, TAKES, CONNECTED] + END),
    Case("7 errors", "a check that the leader refused settles", dict(refusals_count=True),
         [BREAKS, TAKEN, TAKES, MARKED, CLOSED, CONNECTED] + HEARTBEAT + [REFUSED] + HEARTBEAT),
    Case("7 read-only servers", "grade Contact, and a read-only server's answers count",
         dict(grade=CONTACT, rule=broken.ReadOnlyServersProve),
         [BREAKS, "a read-only server takes the client", "a read-only server answers"] + END),
]

OTHERS = [
    Case("K1 shutdown", "ClickHouse Keeper: a member that shuts down closes its sessions",
         dict(events=("a member shuts down, and closes its sessions",)), ["a member shuts down, and closes its sessions"]),
    Case("K2 wall clock", "ClickHouse Keeper, RaftKeeper: expiry counts on the wall clock",
         dict(events=("X's wall clock is set forward",)), ["X's wall clock is set forward"] + END),
    Case("K3 reads", "ClickHouse Keeper: reads at a follower do not touch the leader (grade Contact)",
         dict(grade=CONTACT, one_server=False), ANY + END),
    Case("K4 absolute times", "RaftKeeper: members send absolute times of expiry",
         dict(events=("a member's absolute time of expiry reaches X",)), ["a member's absolute time of expiry reaches X"] + END),
    Case("K5 touches applied late", "ClickHouse Keeper: touches are answered before the leader applies them",
         dict(pings_before_requests=False, gap=F(100)), PAIR + PAIR + END),
]

# The model is not empty: what the client is built for happens.
WITNESSES = [
    Case("renewed", "a lease is renewed on its connection by two pairs", {}, PAIR + PINGED + PAIR, in_force(True, F(108, 10))),
    Case("continued", "a lease goes on at a new leader, by one check", {}, [ELECTED] + AGAIN + HEARTBEAT, in_force(True, F(108, 10))),
    Case("proved again", "a lease that has lapsed is proved again, tentatively at first", {},
         AGAIN + HEARTBEAT + [REFUSED] + HEARTBEAT, in_force(True, 18)),
    Case("ready", "a lease that syncs kept ready is proved by one check", {}, AGAIN + PAIR + HEARTBEAT, in_force(True, F(108, 10))),
    Case("vouched by a write", "a lease that syncs kept ready is proved by a write of the caller's", {},
         AGAIN + PAIR + HEARTBEAT + [COMMITTED, WRITTEN], in_force(True, F(108, 10))),
    Case("the end", "a session is closed once the deadline has passed", {}, END, lambda s, world, least: s.x.closed),
]
