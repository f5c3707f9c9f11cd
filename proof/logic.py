"""Terms that are numbers or formulas: the same functions compute with both.

The proof gives them formulas of z3; `calls.py` gives them numbers, to hold the model to the code.
A record is a frozen dataclass of times, flags and tags, or of other records.
"""
from dataclasses import dataclass, fields, is_dataclass
from fractions import Fraction

try:
    import z3
except ImportError:  # `replay.py` computes with numbers alone
    z3 = None

Time, Flag, Tag = Fraction, bool, int
record = dataclass(frozen=True)


def And(*facts):
    terms = [fact for fact in facts if not isinstance(fact, bool)]
    if not all(fact for fact in facts if isinstance(fact, bool)):
        return False
    return z3.And(*terms) if terms else True


def Or(*facts):
    terms = [fact for fact in facts if not isinstance(fact, bool)]
    if any(fact for fact in facts if isinstance(fact, bool)):
        return True
    return z3.Or(*terms) if terms else False


def Not(fact):
    return not fact if isinstance(fact, bool) else z3.Not(fact)


def Implies(premise, conclusion):
    return Or(Not(premise), conclusion)


def If(condition, yes, no):
    """Returns `yes` or `no`; of records, field by field."""
    if isinstance(condition, bool):
        return yes if condition else no
    if yes is no:
        return yes
    if is_dataclass(yes):
        return type(yes)(*(If(condition, getattr(yes, f.name), getattr(no, f.name)) for f in fields(yes)))
    return z3.If(condition, lift(yes), lift(no))


def later(a, b):
    return If(a >= b, a, b)


def earlier(a, b):
    return If(a <= b, a, b)


def lift(value):
    """Returns a number as a term of z3."""
    return z3.Q(value.numerator, value.denominator) if isinstance(value, Fraction) else value


def fresh(kind, name):
    """Returns a record whose leaves are variables."""
    leaves = {Time: z3.Real, Flag: z3.Bool, Tag: z3.Int}
    if kind in leaves:
        return leaves[kind](name)
    return kind(*(fresh(f.type, f"{name}.{f.name}") for f in fields(kind)))


def equal(a, b):
    if is_dataclass(a):
        return And(*(equal(getattr(a, f.name), getattr(b, f.name)) for f in fields(a)))
    return True if a is b else lift(a) == lift(b)


def value(model, term):
    """Returns what a term is in a model: Fraction, bool or int."""
    if is_dataclass(term):
        return type(term)(*(value(model, getattr(term, f.name)) for f in fields(term)))
    if not z3.is_expr(term):
        return term
    found = model.eval(term, model_completion=True)
    if z3.is_bool(found):
        return z3.is_true(found)
    return found.as_long() if z3.is_int(found) else Fraction(found.numerator_as_long(), found.denominator_as_long())
