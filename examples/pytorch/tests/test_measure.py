"""The scripts that measure run as their page says, on processors as far as those go."""

import csv
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent.parent / "scripts"


def run(script, *arguments, **options):
    return subprocess.run([sys.executable, SCRIPTS / script, *arguments], capture_output=True, text=True, **options)


def test_steps_become_rows_of_a_table(tmp_path):
    out = tmp_path / "steps.csv"
    told = run(
        "measure_steps.py", "--out", out, "--steps", "1", "tiny:32x2", "tiny@1:16x1/full", "tiny:32x1/selective_op"
    )
    assert told.returncode == 0, told.stderr
    rows = list(csv.DictReader(out.read_text().splitlines()))
    assert [r["activation_checkpointing"] for r in rows] == ["none", "full", "selective_op"]
    assert [(r["layers"], r["seq_len"], r["micro_batch_per_dp_rank"]) for r in rows] == [
        ("2", "32", "2"),
        ("1", "16", "1"),
        ("2", "32", "1"),
    ]
    assert all(float(r["step_time_s"]) > 0 and r["fsdp_or_zero"] == "zero3" for r in rows)
    assert len(told.stdout.splitlines()) == 3


@pytest.mark.parametrize("words", ["1b", "9b:8x8", "tiny:8x8/half", "tiny@0.5:8x8"])
def test_a_configuration_that_is_none_is_named(tmp_path, words):
    told = run("measure_steps.py", "--out", tmp_path / "steps.csv", words)
    assert told.returncode == 2
    assert f"'{words}' is no MODEL" in told.stderr
