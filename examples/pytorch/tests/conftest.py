"""What all tests share: the programs' folder on the path, and a job of ranks that do not exist."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent.parent / "scripts"))
sys.path.append(str(Path(__file__).parent))

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from shardweave_torch.capture import fake_ranks  # noqa: E402


@pytest.fixture
def ranks() -> Iterator[Callable[..., None]]:
    """Starts a fake job: `ranks(8)`; it ends with the test."""
    yield fake_ranks
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
