"""Holds README.md's table to the code and to the model: each rule has its step, and each step its rule."""
import pathlib
import re

import broken_rules
import cases
import ensemble
import invariant
from client import Client

TOP = pathlib.Path(__file__).resolve().parent.parent
SOURCES = {name: TOP / "session/src" / path for name, path in
           (("lease.rs", "lease.rs"), ("evidence.rs", "lease/evidence.rs"))}

# What the model calls by another name.
NAMES = {"read_only": "set_read_only", "connect": "begin", "ping_answered": "answered", "due_at": "due",
         "half_ripe_at": "due", "after": "with_pair", "followed_by": "with_pair", "awaits_confirmation": "heartbeat_answered"}
# What has another form there.
PARTS = {"no_evidence": "Evidence::NONE", "ripe_at": "ripe_at", "with_pair": "fn followed_by"}
# What only says how long answers take, or when to send.
APART = {"new", "grade", "next_heartbeat", "retry_delay", "next_ping", "outlook", "is_proved_before", "interval",
         "settles_at", "is_settling"}


def rules():
    """Returns the numbered rules of the sources, and the first sentence in bold where they have one."""
    found = {}
    for name, path in SOURCES.items():
        for number, title in re.findall(r"^//[/!] (\d)\. (?:\*\*(.+?)\*\*)?", path.read_text(), re.MULTILINE):
            found[f"{name} {number}"] = title
    return found


def rows():
    """Returns the rows of the table: rule, title, names in code font, cases."""
    for line in (TOP / "proof/README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if match := re.match(r"((?:lease|evidence)\.rs \d)(?:: (.+))?$", cells[0]):
            yield match[1], match[2] or "", re.findall(r"`(\w+)`", cells[1]), [c.strip() for c in cells[2].split(";")]


def faults():
    found, wanted, table = [], rules(), list(rows())
    shown = {case for _, _, _, names in table for case in names}
    known = {case.name for case in cases.RULES + cases.CONDITIONS + cases.ORDER + cases.GRADES}
    for rule, title in wanted.items():
        if not any(row[0] == rule and row[1] in title for row in table):
            found.append(f"{rule} ({title}) has no row")
    for rule, _, names, shows in table:
        if rule not in wanted:
            found.append(f"{rule} is no rule")
        places = [Client, ensemble, ensemble.World, invariant]
        found += [f"{rule}: `{name}` is nowhere in the model" for name in names
                  if not any(name in vars(place) or name in getattr(place, "__dataclass_fields__", {}) for place in places)]
        found += [f"{rule}: no case is named '{case}'" for case in shows if case not in known]
    found += [f"the case '{case.name}' belongs to no rule" for case in cases.RULES if case.name not in shown]
    return found + functions()


def functions():
    """Each function of the lease is in the model, and each function of the model in the lease."""
    sources = "\n".join(path.read_text() for path in SOURCES.values())
    code = set(re.findall(r"\bfn (\w+)", sources)) - APART
    model = {name for name, what in vars(Client).items() if callable(what) and not name.startswith("_")}
    found = [f"`{name}` of the lease is not in client.py" for name in sorted(code) if NAMES.get(name, name) not in model]
    for name in sorted(model):
        if name not in code and name not in NAMES.values() and PARTS.get(name, "?") not in sources:
            found.append(f"`Client.{name}` is not in the lease")
    return found
