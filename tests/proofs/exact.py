"""Files, exact numbers and refusals, for check_certificate.py: whatever goes wrong there, the proof does not hold."""

import gzip
import json

FLAGS = {"backward", "coalesced", "every_edge", "infeasible", "only_limits"}
COUNTS = set("""a activity after allowed b budget bytes_in bytes_out cases cells channels collective communication dominated
    edge edges elimination_order first for from head held inputs later members message_bits multipliers parts position prefetch
    price_bits reduction share since steps strategies tables to together transition vertex vertices weight weight_bits weights
    window work""".split())


def demand(condition, text):
    if not condition:
        raise ValueError(text)


class At:
    """The step that is looked at, and the unit: all costs are whole multiples of 1 / one, a power of two. What is forbidden
    costs 2^1200, more than all doubles of a file come to, and nothing that is not costs half of it."""

    step, one, forbidden = "reading", 1, 2**1200


def each(name, entries):
    """The entries, one step after the other."""
    for i, entry in enumerate(entries):
        At.step = f"{name}[{i}]"
        yield entry
    At.step = f"after {name}"


def whole(value, least=0):
    """Whether all in a list, and in lists in it, are objects or whole numbers, of which none is below the least."""
    if type(value) is list:
        return all(whole(one, least) for one in value)
    return type(value) is int and value >= least or type(value) is dict


def read(*paths):
    """A problem and a certificate, whose indexes are whole and not below zero: an IndexError tells one that is too large.
    The unit becomes one that everything in them is a multiple of."""
    finest = bits = 0

    def real(text):
        nonlocal finest
        finest = max(finest, float(text).as_integer_ratio()[1].bit_length() - 1)
        return float(text)

    def integer(text):
        return int(text) if -(2**63) <= int(text) < 2**63 else float(text)

    def checked(pairs):
        nonlocal bits
        demand(len(dict(pairs)) == len(pairs), "a field stands twice in one object")
        for name, value in pairs:
            demand(name not in FLAGS or type(value) is bool, f"{name} is true or false")
            demand(name not in COUNTS or whole(value), f"{name} is no whole number, or below zero")
            if name.endswith("_bits"):
                demand(value <= 1200, f"{name} is above 1200")
                bits = max(bits, value)
        return dict(pairs)

    def load(path):
        with open(path, "rb") as file:
            data = file.read()
        data = gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
        return json.loads(data, object_pairs_hook=checked, parse_float=real, parse_int=integer, parse_constant=real)

    texts = [load(path) for path in paths]
    At.one = 2 ** (41 + bits + finest)  # 41: of weights, and of prices of savings
    At.forbidden = At.one << 1200
    return texts


def units(number):
    """A number as the whole count of units that it exactly is; None forbids."""
    if number is None:
        return At.forbidden
    n, d = number.as_integer_ratio()
    return n * (At.one // d)
