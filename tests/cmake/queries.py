#!/usr/bin/env python3
"""queries.py PAGE SCHEDULE_TASKS TASKS FOLDER

The queries that the page tells to ask of a trace in Perfetto, asked of one that SCHEDULE_TASKS writes of TASKS: by SQLite,
whose language Perfetto's is, of tables with the names and columns that Perfetto makes of such a file. What they answer is
what the program prints and what the events add up to.
"""
import collections
import json
import pathlib
import re
import sqlite3
import subprocess
import sys


def database(events):
    """Tables `slice`, `thread_track` and `thread`, as far as Perfetto fills them from slices and names of threads."""
    base = sqlite3.connect(":memory:")
    base.executescript("""
        create table thread (utid integer primary key, tid, name, upid);
        create table thread_track (id integer primary key, utid, name);
        create table slice (id integer primary key, ts, dur, track_id, category, name);""")
    for event in events:
        if event["ph"] == "M" and event["name"] == "thread_name":
            tid = event["tid"]
            base.execute("insert into thread values (?, ?, ?, ?)", (tid, tid, event["args"]["name"], event["pid"]))
            base.execute("insert into thread_track values (?, ?, null)", (100 + tid, tid))
        elif event["ph"] == "X":  # microseconds become nanoseconds
            base.execute("insert into slice values (null, ?, ?, ?, ?, ?)",
                         (round(event["ts"] * 1000), round(event["dur"] * 1000), 100 + event["tid"], event["cat"], event["name"]))
    return base


def main():
    page, program, tasks, folder = sys.argv[1:]
    if not pathlib.Path(tasks).exists():
        return print(f"skipped: {tasks} is not there")
    trace = pathlib.Path(folder) / "trace.json"
    trace.parent.mkdir(parents=True, exist_ok=True)
    told = json.loads(subprocess.run([program, tasks, "--json", "--trace", trace], check=True, capture_output=True).stdout)
    events = json.loads(trace.read_text())["traceEvents"]
    queries = re.findall(r"```sql\n(.*?)```", pathlib.Path(page).read_text(), re.S)
    assert len(queries) == 2, f"{page} has {len(queries)} queries, expected one of stalls and one of channels"
    stalls, channels = (database(events).execute(query).fetchall() for query in queries)

    waits = [e for e in events if e.get("cat") == "exposed wait"]
    assert told["exposed_ns"] > 0 and round(sum(ms for _, _, ms in stalls) * 1e6) == told["exposed_ns"], stalls
    assert sum(count for _, count, _ in stalls) == len(waits), stalls
    assert [ms for _, _, ms in stalls] == sorted((ms for _, _, ms in stalls), reverse=True), stalls
    names = {e["tid"]: e["args"]["name"] for e in events if e["name"] == "thread_name"}
    busy = collections.Counter()
    for e in events:
        if e.get("cat") == "collective":
            busy[names[e["tid"]]] += round(e["dur"] * 1000)
    assert len(busy) > 0 and {name: round(ms * 1e6) for name, ms in channels} == busy, (channels, busy)
    print(f"{len(stalls)} kinds of stalls, {len(channels)} channels, as the program tells them")


main()
