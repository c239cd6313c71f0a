"""The pass that Inductor calls: hides communication of a training step behind its computation."""

from __future__ import annotations

import contextlib
import functools
import gc
import hashlib
import logging
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch._inductor.custom_graph_pass import CustomGraphPass

from . import _planner
from ._operators import kind_of
from ._planner import Machine, Schedule, TaskGraph
from .agreement import agree
from .apply import Snapshot, apply_plan
from .export import Estimate, Exported, RanksOf, estimate_by_pytorch, export_graph, ranks_of_group

log = logging.getLogger("shardweave")

#: Takes a task graph and the budget of memory, gives a schedule; must depend on nothing else.
Planner = Callable[[TaskGraph, int], Schedule]

_SCHEDULINGS = ("best_known", "prefetch")


@dataclass
class Report:
    """What the pass did to one graph.

    `before` and `after` are what `TaskGraph.simulate` says: modelled times in nanoseconds, sizes in bytes.
    """

    name: str
    changed: bool = False
    why_unchanged: str = ""
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)
    collectives: int = 0
    launches: int = 0
    fences: list[str] = field(default_factory=list)  #: names of nodes across which nothing moves
    seconds: dict[str, float] = field(default_factory=dict)  #: that went by for export, plan, apply, agree

    def __str__(self) -> str:
        """One line for a log."""
        if not self.changed:
            return f"{self.name}: unchanged: {self.why_unchanged}"
        ms = 1e-6
        return (
            f"{self.name}: {self.before['end_to_end'] * ms:.2f} -> {self.after['end_to_end'] * ms:.2f} ms modelled, "
            f"exposed {self.before['exposed'] * ms:.2f} -> {self.after['exposed'] * ms:.2f} ms, "
            f"{self.collectives} collectives in {self.launches} launches, "
            f"peak {self.before['peak'] / 2**20:.1f} -> {self.after['peak'] / 2**20:.1f} MiB, "
            f"planned in {sum(self.seconds.values()):.3f} s"
        )


def _identity(setting: Any) -> Any | None:
    """What tells a setting from all others: of a function of the program its attribute or method `uuid`, if any."""
    if setting is None or isinstance(setting, str):
        return setting or ""
    if setting is ranks_of_group or setting is estimate_by_pytorch:
        return setting.__name__
    told = getattr(setting, "uuid", None)
    return told() if callable(told) else told


def _groups() -> str:
    """A hash of the ranks of this job's process groups: graphs name groups, plans depend on who is in them."""
    if not dist.is_initialized():
        return ""
    world = dist.distributed_c10d._world
    groups = sorted((name, sorted(world.pg_group_ranks[group])) for group, name in world.pg_names.items())
    return hashlib.sha256(repr(groups).encode()).hexdigest()[:16]


@functools.cache
def _sources_hash() -> str:
    digest = hashlib.sha256()
    here = Path(__file__).parent
    for file in [*sorted(here.glob("*.py")), Path(_planner.__file__)]:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class OverlapPass(CustomGraphPass):
    """Orders the graphs that Inductor compiles so that communication hides behind computation.

    ```
    with torch._inductor.config.patch(post_grad_custom_post_pass=OverlapPass("h100")):
        step = torch.compile(model, fullgraph=True)
    ```

    It promises that
    - a graph whose ranks would not launch the same in the same order, one of which something goes wrong, or one that
      the plan would not make faster within the memory that it needs already, stays as it is, and the log says why;
    - nothing moves across what is not understood: changes of memory, random numbers, sends, effects;
    - the plan depends on the graph and on what `uuid` tells, so that Inductor's caches work. As with any pass that
      compares ranks, either all ranks find a graph in their caches or none; with `caches=False` none does.

    Args:
        machine: a device that the library knows (a100, h100, h200, b200, gb200), or a `Machine`.
        scheduling: "best_known" (default), "prefetch" (plans in half the time or less), or a function of task graph and
            budget.
        buckets: whether collectives may be launched together; each keeps its buffers, nothing is copied.
        keep: hold the order by control dependencies; without them Inductor may undo it.
        memory: bytes that the modelled peak may reach; default: the peak of the graph as it came.
        agreement_seconds: how long a rank waits for the others to compile the same graph.
        caches: whether compiled graphs may be taken from Inductor's caches.
        ranks_of: gives the ranks of a process group by its name; default: PyTorch's registry.
        estimate: milliseconds that a node's kernel takes, in place of the machine's, such as `estimate_by_pytorch`;
            must say the same on all ranks. Collectives are the machine's.

    Functions of your own (`scheduling`, `ranks_of`, `estimate`) keep graphs out of Inductor's caches, unless they have
    an attribute or a method `uuid` that tells them from all others.
    """

    def __init__(
        self,
        machine: str | Machine = "h100",
        *,
        scheduling: str | Planner = "best_known",
        buckets: bool = True,
        keep: bool = True,
        memory: int | None = None,
        agreement_seconds: float = 300.0,
        caches: bool = True,
        ranks_of: RanksOf = ranks_of_group,
        estimate: Estimate | None = None,
    ) -> None:
        """Builds the pass; wrong names of machines and schedulings are refused here, with the known ones."""
        if isinstance(scheduling, str) and scheduling not in _SCHEDULINGS:
            raise ValueError(f"no scheduling is called '{scheduling}'; known are {', '.join(_SCHEDULINGS)}")
        self.machine = Machine(machine) if isinstance(machine, str) else machine
        self.scheduling = scheduling
        self.buckets = buckets
        self.keep = keep
        self.memory = memory
        self.agreement_seconds = agreement_seconds
        self.caches = caches
        self.ranks_of = ranks_of
        self.estimate = estimate
        self.reports: list[Report] = []  #: one per graph, in the order in which they were compiled

    def uuid(self) -> Any | None:
        """What the plan depends on beside the graph: this package, machine, settings, ranks of process groups.

        Nothing where that cannot be told: then Inductor's caches are left alone.
        """
        told = [_identity(s) for s in (self.scheduling, self.ranks_of, self.estimate)]
        if not self.caches or any(t is None for t in told):
            return None
        machine = (self.machine.name, self.machine.devices_per_node, self.machine.collectives)
        return ("shardweave", _sources_hash(), machine, *told, self.buckets, self.keep, self.memory, _groups())

    def __getstate__(self) -> dict[str, Any]:
        """Reports stay where they were made; a machine is told by its name."""
        state = {k: v for k, v in self.__dict__.items() if k not in ("reports", "machine")}
        return {**state, "machine": (self.machine.name, self.machine.collectives, self.machine.devices_per_node)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Makes the machine anew."""
        self.__dict__.update({**state, "machine": Machine(*state["machine"]), "reports": []})

    def __call__(self, graph: torch.fx.Graph) -> None:
        """Plans one graph and changes it in place, or leaves it."""
        if not any(n.op == "call_function" and kind_of(n.target).what == "start" for n in graph.nodes):
            return
        with _without_collections():
            self._change(graph)

    def _change(self, graph: torch.fx.Graph) -> None:
        report = Report(f"graph {len(self.reports)}")
        self.reports.append(report)
        snapshot = Snapshot(graph)
        signature: dict[str, str] = {}
        try:
            with _timed(report, "export"):
                exported = export_graph(graph, self.machine, report.name, self.ranks_of, estimate=self.estimate)
                report.fences = exported.fences
            with _timed(report, "plan"):
                schedule = self._plan(exported, report)
            if schedule is not None:
                with _timed(report, "apply"):
                    apply_plan(graph, exported, schedule.order, schedule.buckets, self.keep)
                signature = signature_of(exported, schedule)
        except Exception as error:  # whatever it is: a program that runs without the pass runs with it
            report.why_unchanged = f"{type(error).__name__}: {error}"
            log.warning("%s: %s; the graph stays as it is", report.name, report.why_unchanged, exc_info=True)
        with _timed(report, "agree"):
            found = agree(signature, report.why_unchanged, self.agreement_seconds)
        report.changed = found.holds
        if not found.holds:
            if not report.why_unchanged:
                log.warning("%s: %s; the graph stays as it is", report.name, found.why)
                report.why_unchanged = found.why
            snapshot.restore()
        log.info("%s", report)

    def _plan(self, exported: Exported, report: Report) -> Schedule | None:
        """The schedule, or nothing where it would not be better; then the report says why."""
        tasks = exported.tasks
        report.before = tasks.simulate()
        budget = report.before["peak"] if self.memory is None else self.memory
        if isinstance(self.scheduling, str):
            schedule = tasks.plan(self.scheduling, memory=budget, buckets=self.buckets)
        else:
            schedule = self.scheduling(tasks, budget)
        schedule = schedule.coalesced()
        report.after = tasks.simulate(schedule)
        report.collectives = exported.kinds.count("collective")
        report.launches = report.after["collectives"]
        if report.after["peak"] > max(budget, report.before["peak"]):
            report.why_unchanged = f"no faster order was found within {budget} bytes"
        elif isinstance(self.scheduling, str) and not self._helps(report):
            report.why_unchanged = "no order was found that would end earlier"
        return None if report.why_unchanged else schedule

    def _helps(self, report: Report) -> bool:
        """Ends earlier; or as early, and would be undone if it were not held."""
        before, after = report.before["end_to_end"], report.after["end_to_end"]
        return after < before or (after == before and self.keep and report.after["hidden"] > 0)


def signature_of(exported: Exported, schedule: Schedule) -> dict[str, str]:
    """What ranks compare: by the ranks of a group ("0,1,2") a hash of what is launched on it.

    Groups of the same ranks stand together, in the order in which the graph as it came names them.
    """
    told: dict[str, list[str]] = {}
    for ranks, channel in zip(exported.ranks, exported.tasks.signature(schedule), strict=True):
        told.setdefault(",".join(map(str, ranks)), []).append(str(channel))
    return {ranks: " ".join(channels) for ranks, channels in told.items()}


@contextlib.contextmanager
def _without_collections() -> Iterator[None]:
    """No search for cycles of garbage: the pass makes few, and each looks through all graphs that the program has."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextlib.contextmanager
def _timed(report: Report, stage: str) -> Iterator[None]:
    start = time.perf_counter()
    try:
        yield
    finally:
        report.seconds[stage] = time.perf_counter() - start
