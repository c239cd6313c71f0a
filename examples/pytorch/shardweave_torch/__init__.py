"""Plans of shardweave for PyTorch programs: an overlap pass for Inductor, and what it is made of.

The package composes the planners of the library; all decisions are made there. `OverlapPass` is what most programs
need.
"""

from ._planner import GraphBuilder, Machine, Schedule, TaskGraph, __version__
from .apply import apply_plan
from .export import Exported, estimate_by_pytorch, export_graph
from .overlap import OverlapPass, Report

__all__ = [
    "Exported",
    "GraphBuilder",
    "Machine",
    "OverlapPass",
    "Report",
    "Schedule",
    "TaskGraph",
    "__version__",
    "apply_plan",
    "estimate_by_pytorch",
    "export_graph",
]
