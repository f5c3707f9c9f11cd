"""The numbers: what the code makes of the timeout, and what README.md's conditions say.

Units: T, the least timeout that was ever granted to the session, is 12; so T/12 is 1.
"""
from fractions import Fraction as F

from client import CONTACT, QUORUM, SYNC, Client, Parts
from ensemble import World

T = F(12)

# session/src/lease.rs, evidence.rs. `calls.py` holds these to the code.
MARGIN, RIPENING, SETTLING = F(1, 10), F(1, 3), F(1, 12)

# The conditions, on the client's clock.
GAP = F(1, 3)  # of T: a leader that serves has sent its last ping no longer ago
WINDOW = F(1, 12)  # of T: sessions that were taken out of the queue are marked


def parts(timeout=T, **different):
    of = dict(margin=MARGIN, ripening=RIPENING, settling=SETTLING) | different
    return Parts(timeout * (1 - of["margin"]), timeout * of["ripening"], timeout * of["settling"])


def world(grade=QUORUM, rule=Client, gap=GAP, window=WINDOW, touch=1 - MARGIN, **different):
    """Returns the conditions, but for what is `different`."""
    of_parts = {key: different.pop(key) for key in ("ripening", "settling") if key in different}
    return World(grade, parts(**of_parts), touch * T, gap * T, window * T, rule, **different)


def assumed():
    """Returns the assumptions of the theorem that these numbers do not meet."""
    of = parts()
    meets = {"a ping comes while a pair becomes ripe": GAP * T <= of.ripening,
             "sessions are marked while a proof settles": 0 < WINDOW * T <= of.settling}
    return [name for name, holds in meets.items() if not holds]
