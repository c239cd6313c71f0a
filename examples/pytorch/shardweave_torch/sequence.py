"""Values that stay cut between products, along their mesh dimension: sequence parallelism, as a plan has it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .capture import Call
from .computation import UNARY, Step

#: Operations that programs call without shapes, so that they work on pieces of any dimension.
_LOCAL = {
    "add", "add_scalar", "cast", "clone", "conv", "getitem", "layer_norm", "mean", "mul", "mul_scalar", "pointwise",
    "rms_norm", "sub", "sum", "where", *UNARY,
}  # fmt: skip


@dataclass
class BetweenProducts:
    """By name of a module: the dimension in which a value is cut where the module takes or gives it."""

    arrives: dict[str, int] = field(default_factory=dict)  #: products that gather their argument from pieces
    gates: dict[str, dict[int | str, int]] = field(default_factory=dict)  #: modules around these that do, by argument
    leaves: dict[str, int] = field(default_factory=dict)  #: modules that give their result in pieces
    works: dict[str, int] = field(default_factory=dict)  #: modules that make pieces of pieces, with whole parameters
    steps: dict[int, int] = field(default_factory=dict)  #: by number of an operation that gives a piece
    missed: list[int] = field(default_factory=list)  #: operations that the plan cuts otherwise


class Sequences:
    """Finds the largest set of operations that can work on pieces where the plan has it so.

    A piece is made where a product gives its result. It is gathered where a product takes its argument, or where the
    module around it does, whose program may ask for its argument's shape. All between them must work on pieces:
    operations that programs call without shapes, modules whose parameters are used in them alone, and all operations
    where the pieces are of samples (dimension 0), if programs take shapes from the tensor at hand.

    Args:
        steps: the operations that were planned.
        results: numbers of those that the model gives.
        argument: by number of an operation and place, the dimension in which the plan cuts that argument, if it does.
        result: by number of an operation, the dimension in which the plan cuts its result.
        pieces: by dimension, into how many pieces it is cut; only even pieces are taken.
        givers: names of products that may give their result in pieces.
        takers: names of products that may take their argument in pieces.
        whole: names of modules without modules of their own, whose parameters are used whole, and in them alone.
        parameters: by number of an operation that is a parameter, name of the module that owns it.
        calls: by name of a module, how it is called.
        taken: operations that are cut otherwise.
    """

    def __init__(
        self,
        steps: Sequence[Step],
        results: set[int],
        argument: Callable[[int, int], int | None],
        result: Callable[[int], int | None],
        pieces: Callable[[int], int],
        givers: set[str],
        takers: set[str],
        whole: set[str],
        parameters: Mapping[int, str],
        calls: Mapping[str, Call],
        taken: set[int],
    ) -> None:
        """Collects who takes what."""
        self.calls, self.results = calls, results
        self.steps, self.argument, self.whole = steps, argument, whole
        self.givers, self.receivers = givers, takers
        self.forward = [i for i, s in enumerate(steps) if not s.backward]
        self.takers: list[list[int]] = [[] for _ in steps]
        self.members: dict[str, list[int]] = {}
        self.owners: list[set[str]] = [set() for _ in steps]  # of all parameters that a value is made of
        self.fixed = [False] * len(steps)  # whether a value is the same for all samples
        for i in self.forward:
            step = steps[i]
            self.members.setdefault(step.module, []).append(i)
            self.owners[i] = {parameters[i]} if i in parameters else set().union(*(self.owners[j] for j in step.inputs))
            self.fixed[i] = i in parameters or (step.op != "input" and all(self.fixed[j] for j in step.inputs))
            for j in step.inputs:
                self.takers[j].append(i)
        cut = (givers | takers) - whole
        self.idle = [False] * len(steps)  # whether nothing is made of it but for the backward pass
        for i in reversed(self.forward):
            self.idle[i] = i not in results and all(self.idle[j] for j in self.takers[i])
        self.found = BetweenProducts()
        self.planned = {
            i: d
            for i in self.forward
            if not (i in taken or self.fixed[i] or self.idle[i] or not steps[i].inputs or steps[i].module in cut)
            if (d := result(i)) is not None
        }
        self.found.steps = {
            i: d
            for i, d in self.planned.items()
            if (d == 0 or steps[i].op in _LOCAL) and steps[i].sizes[d] % pieces(d) == 0
        }

    def run(self) -> BetweenProducts:
        """Takes away what cannot work on pieces, until all that is left can."""
        found = self.found
        for dimension in set(found.steps.values()):  # whoever may take pieces does, to begin with
            found.arrives = dict.fromkeys(self.receivers, dimension)
            found.leaves.update({m: dimension for m in self.givers if self._wanted(m) == dimension})
        found.arrives = {m: d for m in self.receivers if (d := self._offered(m)) is not None}
        while True:
            before = (len(found.steps), len(found.leaves), len(found.arrives))
            found.steps = {i: d for i, d in found.steps.items() if self._works(i, d)}
            for module in self.whole:
                inner = [i for i in self._live(module) if not self.fixed[i]]
                if not self._is_worker(module, inner):
                    for i in self.members.get(module, ()):
                        found.steps.pop(i, None)
            found.leaves = {m: d for m, d in found.leaves.items() if self._wanted(m) == d}
            found.arrives = {m: d for m, d in found.arrives.items() if self._offered(m) == d}
            if before == (len(found.steps), len(found.leaves), len(found.arrives)):
                break
        for module in self.whole:
            inner = [i for i in self._live(module) if i in found.steps]
            if inner:
                found.works[module] = found.steps[inner[0]]
                found.arrives.pop(module, None)
                found.leaves.pop(module, None)
        found = found if self._has_gates() else BetweenProducts()
        found.missed = [i for i in self.planned if found.steps.get(i) != self.planned[i]]
        return found

    def _gate(self, product: str, source: int) -> tuple[str, int | str] | None:
        """The outermost module around a product that is not around what gives its argument, and which argument."""
        maker = self.steps[source].module
        parts = product.split(".")
        for end in range(1, len(parts)):
            around = ".".join(parts[:end])
            if maker != around and not maker.startswith(around + "."):
                made_by = self.calls[around].made_by if around in self.calls else {}
                places = [p for p, m in made_by.items() if m == maker]
                return (around, places[0]) if maker and len(places) == 1 else None
        return (product, 0) if maker else None

    def _has_gates(self) -> bool:
        """Moves what products gather to the modules around them; whether nothing else there wants the pieces."""
        found, gathering = self.found, set(self.found.arrives)
        for product, dimension in list(found.arrives.items()):
            (source,) = self._outside(product)[0]
            around, place = self._gate(product, source) or ("", 0)
            if around == product:
                continue
            inside = {self.steps[t].module for t in self.takers[source] if not self.idle[t]}
            inside = {m for m in inside if m == "" or m.startswith(around + ".")}
            if not inside <= gathering:
                return False
            found.gates.setdefault(around, {})[place] = dimension
            del found.arrives[product]
        return True

    def _live(self, module: str) -> list[int]:
        """Operations of a module but those of which nothing is made, such as statistics for the backward pass."""
        return [i for i in self.members.get(module, ()) if not self.idle[i]]

    def _outside(self, module: str) -> tuple[set[int], set[int]]:
        """What a module takes from others, parameters excepted, and what of it others take."""
        inner = set(self.members.get(module, ()))
        takes = {j for i in inner for j in self.steps[i].inputs if j not in inner and not self.fixed[j]}
        gives = {i for i in inner if any(t not in inner for t in self.takers[i])}
        return takes, gives

    def _lies(self, i: int) -> int | None:
        """The dimension in which a value is cut here."""
        found = self.found.steps.get(i)
        return self.found.leaves.get(self.steps[i].module) if found is None else found

    def _wanted(self, product: str) -> int | None:
        """The dimension in which all that take a product's result want it cut."""
        _, gives = self._outside(product)
        takers = {t for i in gives for t in self.takers[i] if self.steps[t].module != product}
        cuts = {self.found.steps[t] for t in takers if t in self.found.steps}
        if len(gives) != 1 or len(cuts) != 1 or gives & self.results:
            return None
        dimension = cuts.pop()
        told = all(self._takes(t, dimension) and self._is_free_of_shapes(t) for t in takers)
        return dimension if told else None

    def _is_free_of_shapes(self, taker: int) -> bool:
        return self.steps[taker].op in _LOCAL or self.steps[taker].module in self.givers | self.receivers

    def _offered(self, product: str) -> int | None:
        """The dimension in which what a product takes is cut."""
        takes, _ = self._outside(product)
        cuts = {self._lies(i) for i in takes}
        return cuts.pop() if len(takes) == 1 and len(cuts) == 1 and self._gate(product, *takes) else None

    def _takes(self, taker: int, dimension: int) -> bool:
        """Whether an operation takes pieces: it works on them, or it belongs to a product that gathers them."""
        return dimension in (self.found.steps.get(taker), self.found.arrives.get(self.steps[taker].module))

    def _works(self, i: int, dimension: int) -> bool:
        step = self.steps[i]
        for place, source in enumerate(step.inputs):
            if self.fixed[source]:
                if self.argument(i, place) is not None:
                    return False
                if self.owners[source] and not (self.owners[source] <= {step.module} <= self.whole):
                    return False
            elif self._lies(source) != dimension or self.argument(i, place) != dimension:
                return False
        takers = [t for t in self.takers[i] if not self.idle[t]]
        return bool(takers) and i not in self.results and all(self._takes(t, dimension) for t in takers)

    def _is_worker(self, module: str, inner: list[int]) -> bool:
        """Whether all of a module makes pieces of one argument's pieces."""
        takes, gives = self._outside(module)
        cuts = {self.found.steps.get(i) for i in inner}
        return len(takes) == 1 and len(gives) == 1 and len(cuts) == 1 and None not in cuts
