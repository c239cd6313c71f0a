"""Files, and numbers that are exactly what they say, for check_certificate.py."""

import gzip
import json


class Refused(Exception):
    pass


def demand(condition, text):
    if not condition:
        raise Refused(text)


def read(path):
    def no_twins(pairs):
        keys = [k for k, _ in pairs]
        demand(len(set(keys)) == len(keys), "a field stands twice in one object")
        return dict(pairs)

    def no_constant(name):
        raise ValueError(name + " is no number")

    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    return json.loads(data.decode(), object_pairs_hook=no_twins, parse_constant=no_constant)


class Unit:
    """Costs are whole multiples of 1 / Unit.one, a power of two that everything which is read is a multiple of."""

    one = 1

    @staticmethod
    def choose(*texts):
        def bits(x):
            if isinstance(x, dict):
                finest = [bits(v) for v in x.values()]
            elif isinstance(x, list):
                finest = [bits(v) for v in x] if any(type(v) not in (int, str) for v in x) else []
            else:
                return x.as_integer_ratio()[1].bit_length() - 1 if type(x) is float else 0
            return max(finest, default=0)

        lists = texts[-1].get("multipliers", [])
        told = [m.get(k, 0) for m in lists for k in ("message_bits", "price_bits")]
        shares = max([41] + [b for b in told if type(b) is int and b <= 1200])  # 41: of weights, and of prices of savings
        Unit.one = 2 ** (shares + 2 * max(map(bits, texts)))


def units(number):
    """A cost as the whole number of units that it exactly is; None is forbidden."""
    if number is None:
        return None
    n, d = number.as_integer_ratio()
    whole, rest = divmod(n * Unit.one, d)
    demand(rest == 0, f"{number} is no multiple of the unit")
    return whole


def index(value, count, what):
    demand(type(value) is int and 0 <= value < count, f"{what} {value} is not from 0 to {count - 1}")
    return value


def whole(value, what):
    demand(type(value) is int and -(2**63) <= value < 2**63, f"{what} is no whole number of 64 bits")
    return value
