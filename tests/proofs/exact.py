"""Files, numbers that are exactly what they say, and refusals, for check_certificate.py."""

import gzip
import json


class Refused(ValueError):
    __repr__ = ValueError.__str__


def demand(condition, text):
    if not condition:
        raise Refused(text)


def whole(value, what, count=None):
    """A whole number of 64 bits, or an index of so many."""
    least, end = (-(2**63), 2**63) if count is None else (0, count)
    demand(type(value) is int and least <= value < end, f"{what} {value} is no whole number from {least} to {end - 1}")
    return value


class At:
    """The step that is looked at, and the unit of costs: they are whole multiples of 1 / one, a power of two."""

    step, one = "", 1


def each(name, entries):
    """The entries, one step after the other."""
    for i, entry in enumerate(entries):
        At.step = f"{name}[{i}]"
        yield entry
    At.step = f"after {name}"


def read(*paths):
    """A problem and a certificate; the unit becomes one that everything in them is a multiple of."""
    finest = 0

    def number(text):
        nonlocal finest
        value = float(text)
        finest = max(finest, value.as_integer_ratio()[1].bit_length() - 1)
        return value

    def members(pairs):
        demand(len({k for k, _ in pairs}) == len(pairs), "a field stands twice in one object")
        return dict(pairs)

    def load(path):
        with open(path, "rb") as file:
            data = file.read()
        text = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return json.loads(text, object_pairs_hook=members, parse_float=number, parse_constant=number)

    texts = [load(path) for path in paths]
    bits = [whole(m.get(k, 0), k, 1201) for m in texts[-1].get("multipliers", []) for k in ("message_bits", "price_bits")]
    At.one = 2 ** (max([41, *bits]) + finest)  # 41: of weights, and of prices of savings
    return texts


def units(number):
    """A cost as the whole number of units that it exactly is; None is forbidden."""
    if number is None:
        return None
    n, d = number.as_integer_ratio()
    result, rest = divmod(n * At.one, d)
    demand(rest == 0, f"{number} is no multiple of the unit")
    return result
