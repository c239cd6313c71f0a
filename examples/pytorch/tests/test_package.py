"""What the package tells those who use it: a version, types, and a sentence on everything public."""

import inspect
import tomllib
from pathlib import Path

import pytest

import shardweave_torch
from shardweave_torch import Machine, TaskGraph, _planner, export_graph

HERE = Path(shardweave_torch.__file__).parent


def test_versions_of_library_and_package_are_the_same():
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    assert shardweave_torch.__version__ == project["version"]


def test_type_checkers_are_told_what_there_is():
    assert (HERE / "py.typed").exists()
    stub = (HERE / "_planner.pyi").read_text()
    for name in (n for n in vars(_planner) if not n.startswith("_")):
        assert f"class {name}" in stub or f"def {name}" in stub


def public(owner):
    """Names and values of an extension's classes and functions, and of their members."""
    for name, value in vars(owner).items():
        if not name.startswith("_") and (callable(value) or isinstance(value, property)):
            yield f"{owner.__name__}.{name}", value
            if inspect.isclass(value):
                yield from public(value)


def test_all_that_is_public_says_what_it_is():
    found = dict(public(_planner))
    assert len(found) > 40

    def is_silent(value):
        is_function = callable(value) and not inspect.isclass(value)
        return not value.__doc__ or (is_function and "\n\n" not in value.__doc__)  # the signature is there anyway

    assert [name for name, value in found.items() if is_silent(value)] == []
    assert all(getattr(shardweave_torch, name).__doc__ for name in shardweave_torch.__all__ if name != "__version__")


def test_wrong_arguments_are_named():
    assert repr(Machine("h100")) == "Machine('h100', collectives='nccl', devices_per_node=8)"
    for arguments in (("abacus",), ("h100", "guessed"), ("h100", "nccl", -1)):
        with pytest.raises(ValueError, match=str(arguments[-1])):
            Machine(*arguments)
    tasks = small()
    for ask in (tasks.kind, tasks.name, tasks.duration, tasks.needs):
        with pytest.raises(IndexError, match="99"):
            ask(99)
    with pytest.raises(ValueError, match="fastest"):
        tasks.plan("fastest")
    assert list(tasks.schedule([0, 1, 2]).order) == [0, 1, 2]
    with pytest.raises(ValueError):
        tasks.schedule([1, 0, 2])


def small() -> TaskGraph:
    """An input, a product, an output."""
    import torch

    graph = torch.fx.Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(torch.ops.aten.mm.default, (x, x)))
    for node in graph.nodes:
        node.meta["val"] = torch.empty(4, 4, device="meta")
    return export_graph(graph).tasks
