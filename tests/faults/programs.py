#!/usr/bin/env python3
"""programs.py PROGRAMS CONFIGS DATA WHAT [N [SEED]]: what becomes of programs and their files when faults come.

tests/faults.sh calls it, and says what each WHAT does. Ends with 1 if anything happened that was not expected.

stops   SIGINT at a random moment. Expected: the end within 100 ms, by the wall clock or, on a loaded machine, of the
        program's own CPU time, besides what the program says that it takes to plan what was found to the end and to
        write it; status 3 with every output whole and parsed (a certificate as before, where it says that there was no
        time for one), or the usual status where the work was done,
        or death by the signal before there was anything to answer, with every earlier file as it was; nothing besides.
deadlines  the option --seconds, at random. Expected: by what the program says that it took, the end within 100 ms after the
        limit, besides planning what was found and writing it; every output whole, or as before where there is no answer.
kills   SIGKILL. Expected: every file is the earlier one or whole; only files under temporary names besides.
writes  each output to a full device, with a limit on file sizes, and into a folder that is read-only. Expected: status 2,
        one line that names the file and the reason, earlier files as they were, nothing besides.
hostile files that claim more than they hold. Expected: an answer or status 2 with one line, within 3 GiB of address space.
"""
import gzip
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

LIMIT = 0.1          # seconds from a signal to the end
EARLIER = "earlier\n"  # what stands in every output before


class Job:
    """A command line whose words may name {data}, {configs} and {out}, the folder of its outputs."""

    def __init__(self, name, words, outputs=(), longest=8.0):
        self.name, self.words, self.outputs, self.longest = name, words, outputs, longest
        self.seconds = None


def jobs():
    p = "{data}/placement/"
    solution = ["--solution", "{out}/s.json", "--certificate", "{out}/c.json.gz"]
    both = ("s.json", "c.json.gz")

    def solve(name, problem, solver, more=(), outputs=both):
        words = ["solve_placement", problem, "--solver", solver, "--json", "--threads", "1"]
        return Job(name, words + (solution if outputs is both else ["--solution", "{out}/s.json"]) + list(more), outputs)

    large, middle, small = p + "llama3-8b-2d-8x8.json", p + "llama3-1b-2d-8x8-memory.json", p + "tiny2-2d-4x2.json"
    contest = "{data}/iopddl/asplos-2025-iopddl-G.json"
    tasks = "{data}/tasks/llama3-8b-bw-64-2d.json"
    plan = ("plan.json", "tasks.json", "schedule.json", "trace.json", "report.html")
    certified = plan + ("c.json.gz", "p.json.gz")

    def train(name, more, outputs=plan, config="llama3-1b", mesh=("--mesh", "8x8"), threads="1", longest=8.0):
        words = ["plan_training", "{configs}/" + config + ".json", *mesh, "--json", "--threads", threads, "--out", "{out}"]
        return Job("train " + name, words + list(more), outputs, longest=longest)

    def order(name, more, graph=tasks):
        words = ["schedule_tasks", graph, "--json", "--threads", "1", "--schedule", "{out}/s.json", "--trace", "{out}/t.json"]
        return Job("order " + name, words + ["--report", "{out}/r.html"] + list(more), ("s.json", "t.json", "r.html"))

    solvers = "auto branch_and_bound budgeted local_search guided_search dive".split()
    all_jobs = [solve("solve large", large, "auto"), solve("solve 3d", p + "llama3-1b-1d-64-untied.json", "auto"),
                solve("solve contest", contest, "auto", ["--seconds", "60"])]
    all_jobs += [solve("solve memory " + s, middle, s) for s in solvers]
    all_jobs += [solve("solve contest " + s, contest, s, outputs=("s.json",)) for s in ("guided_search", "ilp", "lp", "ilp_cbc")]
    all_jobs += [solve("solve " + s, small, s, outputs=("s.json",)) for s in
                 ("elimination", "trws", "exhaustive", "lp", "ilp", "lp_clp", "ilp_cbc", "reduced_ilp", "reduced_ilp_cbc")]
    all_jobs += [Job("solve savings " + form, ["solve_placement", p + "llama3-1b-1d-64-overlap.json", "--json", "--threads", "1",
                     "--overlap", form, "--solution", "{out}/s.json"], ("s.json",)) for form in ("windows", "inclusive")]
    all_jobs += [Job("solve two threads", ["solve_placement", middle, "--json", "--threads", "2", *solution], both)]
    all_jobs += [
        train("step", []), train("step 8b", [], config="llama3-8b"), train("sum", ["--objective", "sum"]),
        train("two threads", [], threads="2"),
        train("certificate", ["--certificate", "{out}/c.json.gz", "--problem", "{out}/p.json.gz"], certified),
        train("meshes", ["--mesh-search", "2"]), train("best", ["--best", "3"], mesh=("--mesh", "8")),
        train("what if", ["--what-if", "placed layers.*.wq S(0)"], mesh=("--mesh", "8")),
        train("propagate", ["--propagate"]), train("memory", ["--memory-budget", "20GiB"]),
        train("recompute", ["--recompute", "auto"]), train("layout", ["--layout", "fsdp=8,tp=8"], mesh=()),
        train("savings", ["--overlap", "windows"], mesh=("--mesh", "8")),
        train("untied", ["--layers", "untied"], mesh=("--mesh", "8")),
        train("deepseek", [], config="deepseek-v3", mesh=("--mesh", "64"))]
    # within a memory: what is made again, and waits in the host's memory; of a small model and of one of 80 layers
    in_memory = ["--memory", "3GiB"]
    all_jobs += [
        train("in memory", in_memory), train("in memory 70b", ["--memory", "30GiB"], config="llama3-70b", longest=20.0),
        train("layout in memory 70b", ["--layout", "fsdp=8,tp=8", "--memory", "40GiB"], config="llama3-70b", mesh=()),
        train("sum in memory", ["--objective", "sum", *in_memory]),
        train("certificate in memory", [*in_memory, "--certificate", "{out}/c.json.gz", "--problem", "{out}/p.json.gz"],
              certified),
        train("offload", [*in_memory, "--offload", "50GB"], longest=20.0), train("offload 70b", ["--memory", "30GiB",
              "--offload", "50GB"], config="llama3-70b", longest=20.0),
        train("pieces", ["--pieces", "4"]), train("pieces in memory", ["--pieces", "4", *in_memory]),
        train("batch parts", ["--batch-parts", "2"], longest=20.0),
        train("batch parts by rule", ["--batch-parts", "2", "--recompute", "full", "--objective", "sum"]),
        train("whole step", ["--whole-step", "--accumulate", "2"]), train("f8", ["--f8", "delayed"])]
    all_jobs += [order("best known", []), order("measured", ["--scheduler", "search", "--seconds", "20"])]
    all_jobs += [order(s, ["--scheduler", s]) for s in ("prefetch", "overlap", "torch_default", "exact")]
    all_jobs += [order("bucketing " + b, ["--bucketing", b, "--scheduler", "in_order"]) for b in ("benefit", "greedy")]
    all_jobs += [order("memory", ["--memory", "40GiB"]), order("deepseek", [], "{data}/tasks/deepseek-v3-fw-64.json")]
    all_jobs += [
        Job("predict", ["predict_training", "{data}/training/measured.csv", "--json", "--threads", "1", "--plot", "{out}/p.svg"],
            ("p.svg",)),
        Job("calibrate", ["calibrate_device", "{data}/collectives/xla_h100_8gpu.csv", "--json", "--out", "{out}/d.json"],
            ("d.json",)),
        Job("cost", ["collective_cost", "--json"], ()),
        Job("check", ["check_certificate", middle, "{made}/c.json.gz", "--json"], ()),
        Job("replay", ["replay_schedule", tasks, "{made}/s.json", "--engine", "simulate", "--json", "--report",
                       "{out}/r.html"], ("r.html",))]
    return all_jobs


class Faults:
    def __init__(self, programs, configs, data):
        self.programs, self.configs, self.data = map(os.path.abspath, (programs, configs, data))
        self.made = tempfile.mkdtemp(prefix="made-", dir=self.data)
        self.wrong = []

    def line(self, job, out):
        names = {"data": self.data, "configs": self.configs, "out": out, "made": self.made}
        words = [w.format(**names) if "{" in w else w for w in job.words]
        return [os.path.join(self.programs, words[0])] + words[1:]

    def start(self, job, out, **more):
        return subprocess.Popen(self.line(job, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=out,
                                start_new_session=True, **more)

    def prepare(self):
        """Files that some programs read and others write."""
        for words in (["solve_placement", "{data}/placement/llama3-1b-2d-8x8-memory.json", "--json", "--certificate",
                       "{made}/c.json.gz", "--seconds", "5"],
                      ["schedule_tasks", "{data}/tasks/llama3-8b-bw-64-2d.json", "--json", "--schedule", "{made}/s.json"]):
            subprocess.run(self.line(Job("", words), self.made), check=True, stdout=subprocess.DEVNULL)

    def say(self, job, what):
        self.wrong.append(f"{job.name}: {what}")
        print(f"  WRONG {job.name}: {what}", flush=True)

    def with_earlier(self, job):
        out = tempfile.mkdtemp(prefix="out-", dir=self.data)
        for name in job.outputs:
            with open(os.path.join(out, name), "w") as file:
                file.write(EARLIER)
        return out

    def state(self, job, out, name):
        """earlier, whole, or what is wrong."""
        path = os.path.join(out, name)
        try:
            opened = gzip.open(path, "rt") if name.endswith(".gz") else open(path)
            with open(path, "rb") as raw:
                if raw.read() == EARLIER.encode():
                    return "earlier"
            with opened as file:
                text = file.read()
            if ".json" in name:
                json.loads(text)
            elif name.endswith(".html") and not text.rstrip().endswith("</html>"):
                return "cut"
            elif name.endswith(".svg") and not text.rstrip().endswith("</svg>"):
                return "cut"
            return "whole"
        except (OSError, ValueError, EOFError) as e:
            return f"broken ({e})"

    def measure(self, job):
        """How long the job takes alone, of which its longest part counts."""
        out = self.with_earlier(job)
        start = time.monotonic()
        child = self.start(job, out)
        try:
            _, err = child.communicate(timeout=job.longest)
            if child.returncode not in (0, 1, 4):
                self.say(job, f"fails alone: {child.returncode} {err.decode()}")
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
        job.seconds = min(job.longest, time.monotonic() - start)
        shutil.rmtree(out)

    def hit(self, job, moment, number):
        """One run with a signal: (status, wall seconds, CPU seconds from the signal to the end, states, leftovers)."""
        out = self.with_earlier(job)
        sink, errors = tempfile.TemporaryFile(dir=self.data), tempfile.TemporaryFile(dir=self.data)
        child = subprocess.Popen(self.line(job, out), stdout=sink, stderr=errors, cwd=out, start_new_session=True,
                                 preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))  # shells may ignore it
        time.sleep(moment)
        try:
            cpu = time.clock_gettime((~child.pid << 3) | 2)
        except OSError:
            cpu = None
        at = time.monotonic()
        os.kill(child.pid, number)  # it was not waited for: its number is still its own
        _, status, used = os.wait4(child.pid, 0)
        wall = time.monotonic() - at
        child.returncode = os.waitstatus_to_exitcode(status)
        spent = used.ru_utime + used.ru_stime - cpu if cpu is not None else 0.0
        states = {name: self.state(job, out, name) for name in job.outputs}
        leftovers = sorted(set(os.listdir(out)) - set(job.outputs))
        sink.seek(0), errors.seek(0)
        said, complained = sink.read().decode(), errors.read().decode()
        shutil.rmtree(out)
        return child.returncode, wall, spent, states, leftovers, said, complained

    @staticmethod
    def planned_to_the_end(seconds, moment):
        """What plan_training took, after a moment, to plan what was found and to write it; what searches (around, parts,
        pieces) has to look at the stop itself."""
        took = lambda *stages: sum(seconds[s] for s in stages)
        tail = took("simulate", "compare", "memory", "whole", "write")
        if moment < took("meshes"):  # of the best mesh by then all is planned
            tail += took("model", "build", "compile", "solve")
        # one plan is made whatever comes, after the placement: what was left of that
        before = ("meshes", "model", "build", "compile", "solve", "total")
        placed = took("total") - took(*(s for s in seconds if s not in before))
        planned = placed + took("lower", "bucket", "schedule")
        return tail + max(0, planned - max(moment, placed))

    def stops(self, count, seed, chosen):
        draw = random.Random(seed)
        worst, late, statuses = {}, 0, {}
        for i in range(count):
            job = chosen[i % len(chosen)]
            moment = draw.random() * job.seconds
            status, wall, cpu, states, leftovers, said, complained = self.hit(job, moment, signal.SIGINT)
            tail = 0
            if status == 3 or (status == 1 and said):  # a plan that does not fit tells what it took, too
                if job.words[0] == "plan_training":
                    tail = self.planned_to_the_end(json.loads(said)["seconds"], moment)
            elif status == 0 and job.words[0] == "plan_training":  # all was done but to write it
                tail = json.loads(said)["seconds"]["write"]
            wall_of_all = wall
            wall = max(0, wall - tail)
            taken = wall * min(1, cpu / wall_of_all)
            statuses[status] = statuses.get(status, 0) + 1
            at = f"at {moment:.3f} of {job.seconds:.3f} s"
            if taken > LIMIT or wall > 20 * LIMIT:
                late += 1
                self.say(job, f"{at} it took {wall:.3f} s, {taken:.3f} s of CPU (status {status}), and {tail:.3f} s to the end")
            if taken > worst.get(job.name, (0,))[0]:
                worst[job.name] = (taken, wall, moment)
            if status == 3:
                line = json.loads(said)
                if "why_not" in line.get("certificate", {}) and states["c.json.gz"] == "earlier":
                    del states["c.json.gz"]
                if not all(s == "whole" for s in states.values()):
                    self.say(job, f"{at} status 3, but {states}")
                if not line["interrupted"]:
                    self.say(job, f"{at} status 3, but not interrupted: {said[:200]}")
            elif status == -signal.SIGINT:
                if len(set(states.values())) > 1 or any(s not in ("earlier", "whole") for s in states.values()):
                    self.say(job, f"{at} ended by the signal, but {states} {said[:200]}")
            elif status in (0, 4):  # 4: a plan that does not fit the device
                if not all(s == "whole" for s in states.values()):
                    self.say(job, f"{at} done, but {states}")
            elif status == 1:
                if not complained.startswith(job.words[0] + ": "):
                    self.say(job, f"{at} status 1, but says {complained!r}")
                if any(s not in ("earlier", "whole") for s in states.values()):
                    self.say(job, f"{at} status 1 and {states}")
            else:
                self.say(job, f"{at} status {status}: {complained}")
            if any(status != -signal.SIGINT or ".part-" not in name for name in leftovers):
                self.say(job, f"{at} leaves {leftovers}")
        for job in chosen:
            if job.name in worst:
                taken, wall, moment = worst[job.name]
                print(f"{job.name:32} {job.seconds:7.3f} s  slowest answer {1000 * taken:7.1f} ms, wall {1000 * wall:7.1f} ms, at {moment:.3f} s")
        print(f"{count} stops: {late} later than {1000 * LIMIT:.0f} ms; statuses {dict(sorted(statuses.items()))}")

    def deadlines(self, count, seed, chosen):
        draw = random.Random(seed)
        chosen = [j for j in chosen if j.words[0] in ("solve_placement", "schedule_tasks", "plan_training") and "--seconds" not in j.words]
        worst, late, statuses = {}, 0, {}
        for i in range(count):
            job = chosen[i % len(chosen)]
            limit = draw.random() * job.seconds
            out = self.with_earlier(job)
            child = self.start(Job("", job.words + ["--seconds", f"{limit:.4f}"]), out)
            start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
            said, complained = (text.decode() for text in child.communicate())
            wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
            cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            at = f"within {limit:.3f} of {job.seconds:.3f} s"
            statuses[child.returncode] = statuses.get(child.returncode, 0) + 1
            states = {name: self.state(job, out, name) for name in job.outputs}
            leftovers = sorted(set(os.listdir(out)) - set(job.outputs))
            shutil.rmtree(out)
            if leftovers:
                self.say(job, f"{at} leaves {leftovers}")
            if child.returncode not in (0, 1, 4) or not (said or child.returncode == 1 and complained.startswith(job.words[0] + ": ")):
                self.say(job, f"{at} status {child.returncode}: {complained}")
                continue
            if child.returncode == 1:  # there was no answer by then
                if any(s not in ("earlier", "whole") for s in states.values()):
                    self.say(job, f"{at} status 1 and {states}")
                continue
            line = json.loads(said)
            proof = line.get("certificate", {})
            if "why_not" in proof and states["c.json.gz"] == "earlier":
                del states["c.json.gz"]
            if not all(s == "whole" for s in states.values()):
                self.say(job, f"{at} done (status {child.returncode}), but {states}: {said[:300]}")
            took = line["seconds"]
            proved = proof.get("seconds", 0)  # as long again
            if job.words[0] == "plan_training":
                took = took["total"] - took["certificate"] - self.planned_to_the_end(took, limit)
            over = max(took, proved) - limit
            taken = over * min(1, cpu / wall)  # on a loaded machine its own time counts
            if taken > LIMIT or over > 20 * LIMIT:
                late += 1
                self.say(job, f"{at} it took {over:.3f} s more, of {cpu:.3f} s of CPU in {wall:.3f} s")
            if taken > worst.get(job.name, (0,))[0]:
                worst[job.name] = (taken, limit)
        for job in chosen:
            if job.name in worst:
                taken, limit = worst[job.name]
                print(f"{job.name:32} {job.seconds:7.3f} s  most beyond a limit {1000 * taken:7.1f} ms, of {limit:.3f} s")
        print(f"{count} limits: {late} exceeded by more than {1000 * LIMIT:.0f} ms; statuses {dict(sorted(statuses.items()))}")

    def kills(self, count, seed, chosen):
        draw = random.Random(seed)
        seen = {}
        for i in range(count):
            job = chosen[i % len(chosen)]
            # half of them near the end, where files are written
            moment = job.seconds * (draw.random() if i % 2 else 1 - 0.2 * draw.random())
            status, _, _, states, leftovers, _, _ = self.hit(job, moment, signal.SIGKILL)
            for s in states.values():
                seen[s] = seen.get(s, 0) + 1
            if any(s not in ("earlier", "whole") for s in states.values()):
                self.say(job, f"killed at {moment:.3f} s: {states}")
            if any(".part-" not in name for name in leftovers):
                self.say(job, f"killed at {moment:.3f} s leaves {leftovers}")
        print(f"{count} kills: {seen}")

    def writes(self, chosen):
        tried = 0
        for job in chosen:
            for fault in ("full device", "small files", "read-only", "full output"):
                out = self.with_earlier(job)
                limits = None
                outputs = list(job.outputs)
                stdout = subprocess.PIPE
                if fault == "full device":
                    if not outputs:
                        continue
                    for name in outputs:
                        os.remove(os.path.join(out, name))
                        os.symlink("/dev/full", os.path.join(out, name))
                elif fault == "small files":
                    if not outputs:
                        continue

                    def limits():
                        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
                        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                elif fault == "read-only":
                    if not outputs:
                        continue
                    os.chmod(out, 0o555)
                else:
                    stdout = open("/dev/full", "w")
                line = self.line(job, out)
                if fault == "read-only" and os.getuid() == 0:  # who may write anywhere must not
                    line = ["setpriv", "--bounding-set", "-dac_override,-dac_read_search", *line]
                if job.words[0] in ("solve_placement", "schedule_tasks", "plan_training") and "--seconds" not in line:
                    line += ["--seconds", "1"]  # some would not end by themselves
                child = subprocess.Popen(line, stdout=stdout, stderr=subprocess.PIPE, cwd=out, preexec_fn=limits)
                said, complained = child.communicate()
                complained = complained.decode()
                tried += 1
                if stdout is not subprocess.PIPE:
                    stdout.close()
                os.chmod(out, 0o755)
                nothing = ("no feasible", "before the stop", "no plan within")
                if child.returncode == 1 and any(words in complained for words in nothing):
                    continue  # there is nothing to write yet
                if child.returncode != 2:
                    self.say(job, f"{fault}: status {child.returncode}, {complained!r}")
                lines = [l for l in complained.splitlines() if l.startswith(job.words[0] + ": ") and ": the plan needs " not in l]
                if len(lines) != 1:
                    self.say(job, f"{fault}: {len(lines)} lines of complaint: {complained!r}")
                elif fault != "full output" and not any(name in lines[0] for name in outputs):
                    self.say(job, f"{fault}: names no file: {lines[0]!r}")
                if fault != "full output":
                    if said:
                        self.say(job, f"{fault}: standard output has {said[:200]!r}")
                    for name in outputs:
                        if fault != "full device" and self.state(job, out, name) != "earlier":
                            self.say(job, f"{fault}: {name} is {self.state(job, out, name)}")
                if leftovers := sorted(set(os.listdir(out)) - set(outputs)):
                    self.say(job, f"{fault}: leaves {leftovers}")
                shutil.rmtree(out)
        print(f"{tried} runs whose writes fail")

    def half_a_device(self):
        whole = os.path.join(self.made, "device.json")
        line = self.line(Job("", ["calibrate_device", "{data}/collectives/xla_h100_8gpu.csv", "--json", "--out", whole]), self.made)
        subprocess.run(line, check=True, stdout=subprocess.DEVNULL)
        with open(whole) as file:
            text = file.read()
        return text[:len(text) // 2]

    def wide_problem(self, head):
        """A vertex of two strategies between two of 40,000, and a thousand more that use some of a budget at any time."""
        path = os.path.join(self.made, "wide.json")
        wide, times = 40000, [-2**63, 2**63 - 1]
        with open(path, "w") as file:
            file.write(head + json.dumps({
                "vertices": [{"compute": list(range(n))} for n in (wide, 2, wide)] + [{"compute": [1, 2]}] * 1000,
                "matrices": [list(range(2 * wide))],
                "edges": [{"from": 1, "to": 0, "communication": 0}, {"from": 1, "to": 2, "communication": 0}],
                "budgets": [{"name": "m", "high": 10**6, "terms": [{"vertex": v, "usage": [v, 1], "live": times} for v in range(3, 1003)]}],
            })[1:])
        return path

    @staticmethod
    def write_pieces(path, first, middle, count, last):
        """A file of the first, as often the middle as it says, and the last; packed where there is more than one."""
        if count == 0:
            with open(path, "w") as file:
                file.write(first + last)
        elif count <= 10000:
            with gzip.open(path, "wb", compresslevel=1) as file:
                file.write(first.encode())
                for _ in range(count):
                    file.write(middle)
                file.write(last.encode())
        else:  # members one after the other, of which one is packed for all
            of_one = 2**10
            member = gzip.compress(middle * of_one, 6)
            with open(path, "wb") as file:
                file.write(gzip.compress(first.encode()))
                for _ in range(count // of_one):
                    file.write(member)
                file.write(gzip.compress(middle * (count % of_one) + last.encode()))

    def hostile(self):
        """Files that claim much, nest deep or repeat themselves: one line and status 2, or an answer, in bounded memory."""
        header = '{"format": "shardweave.%s", "version": 1, '
        placement = header % "placement" + '"name": "p", '
        tasks = header % "tasks" + '"name": "t", '
        two = '"vertices": [{"name": "a", "compute": [1, 2]}, {"name": "b", "compute": [3, 1]}], '
        edge = '"matrices": [[0, 3, 3, 0]], "edges": [{"from": 0, "to": 1, "communication": 0}]'
        task = '{"name": "x", "kind": "compute", "duration": 5, "inputs": []}'
        config = json.load(open(os.path.join(self.configs, "llama3-1b.json")))
        largest, huge = 2**63 - 1, 4294967294
        answers, wrong = (0, 1), (2,)
        solve, order, train = ["solve_placement", "FILE", "--json"], ["schedule_tasks", "FILE", "--json"], ["plan_training", "FILE", "--json"]
        plan = lambda **changed: json.dumps({**config, **changed})
        budget = '"budgets": [{"name": "m", "high": %s, "terms": [{"vertex": 0, "usage": [%s, %s]%s}, {"vertex": 1, "usage": [%s, %s]}]}]'
        cases = [
            ("deep lists", solve, placement + '"vertices": ' + "[" * 10**6, wrong),
            ("deep objects", order, '{"a": ' * 10**6, wrong),
            ("deep objects in what is skipped", solve, placement + two + edge + ', "x": ' + '{"a":' * 10**6, wrong),
            ("a name of a gigabyte", solve, (placement[:-7] + '"name": "', b"n" * 2**20, 1000, '"'), wrong + answers),
            ("a gigabyte of blanks", solve, (placement + two + edge, b" " * 2**20, 1000, "}"), answers),
            ("a gigabyte of lists in what is skipped", solve, (placement + two + edge + ', "x": [', b"[1,2,3]," * 2**17, 1000, "0]}"), answers),
            ("eight gigabytes of costs", solve, (placement + '"vertices": [{"compute": [1', b",1" * 2**19, 8000, "]}]}"), wrong),
            ("a hundred gigabytes of costs", solve, (placement + '"vertices": [{"compute": [1', b",1" * 2**19, 100 * 2**10, "]}]}"), wrong),
            ("eight gigabytes of tasks", order, (tasks + '"tasks": [' + task, ("," + task).encode() * 2**14, 8000, "]}"), wrong),
            ("fields twice", solve, placement + two + two + edge + "}", wrong),
            ("a cost that overflows", solve, placement + two.replace("2]", "1e999]", 1) + edge + "}", wrong),
            ("a cost that is no number", solve, placement + two.replace("2]", "NaN]", 1) + edge + "}", wrong),
            ("a cost of infinity", solve, placement + two.replace("2]", "Infinity]", 1) + edge + "}", wrong),
            ("sums that overflow", solve, placement + '"vertices": [{"compute": [1e308]}, {"compute": [1e308]}], "edges": []}', wrong),
            ("subnormal costs", solve, placement + two.replace("[1, 2]", "[5e-324, 1e-310]") + edge + "}", answers),
            ("negative costs", solve, placement + two.replace("[1, 2]", "[-1e300, -2]") + edge + "}", answers),
            ("an edge to vertex 2^32-2", solve, placement + two + edge.replace('"to": 1', f'"to": {huge}') + "}", wrong),
            ("a matrix that is not there", solve, placement + two + edge.replace('"communication": 0', f'"communication": {huge}') + "}", wrong),
            ("a slot of 2^32-2", solve, placement + two + edge.replace('"to": 1', f'"to": 1, "slot": {huge}') + "}", answers + wrong),
            ("an edge to itself", solve, placement + two + edge.replace('"to": 1', '"to": 0') + "}", answers),
            ("a tie of 2^63-1", solve, placement + two.replace('"a"', f'"a", "tie": {largest}') + edge + "}", answers),
            ("a budget of 0", solve, placement + two + edge + ", " + budget % (0, 1, 1, "", 1, 1) + "}", answers),
            ("a budget of 0 of nothing", solve, placement + two + edge + ", " + budget % (0, 0, 1, "", 0, 1) + "}", answers),
            ("a budget of 2^63-1", solve, placement + two + edge + ", " + budget % (largest, largest, 1, "", 1, largest) + "}", answers),
            ("usages that overflow", solve, placement + two + edge + ", " + budget % (1, "1e308", "1e308", "", "1e308", "1e308") + "}", wrong),
            ("usages below zero", solve, placement + two + edge + ", " + budget % (1, -1, -2, "", -1, 3) + "}", answers + wrong),
            ("an interval of all times", solve, placement + two + edge + ", " + budget % (1, 0, 1, f', "live": [{-largest - 1}, {largest}]', 0, 1) + "}", answers),
            ("a window of 2^32-2", solve, placement + two + edge + f', "overlap": {{"order": "vertex order", "edges": [{{"edge": 0, "window": [0, {huge}]}}]}}}}', wrong + answers),
            ("a channel of 2^32-2", ["solve_placement", "FILE", "--json", "--overlap", "windows"], placement + two + edge + f', "overlap": {{"order": "vertex order", "edges": [{{"edge": 0, "window": [0, 1], "channel": {huge}}}]}}}}', answers + wrong),
            ("a million parallel edges", solve, placement + two + '"matrices": [[0, 3, 3, 0]], "edges": [' + ",".join(['{"from": 0, "to": 1, "communication": 0}'] * 10**6) + "]}", answers),
            ("100,000 strategies", solve, placement + '"vertices": [{"compute": [' + ",".join(str(i * 7 % 100003) for i in range(100000)) + ']}, {"compute": [1, 2]}], "matrices": [[' + ",".join(str(i % 1009) for i in range(200000)) + ']], "edges": [{"from": 0, "to": 1, "communication": 0}]}', answers),
            ("100,000 vertices in a cycle", solve, placement + '"vertices": [' + ",".join(['{"compute": [1, 2]}'] * 10**5) + '], "matrices": [[0, 3, 3, 0]], "edges": [' + ",".join('{"from": %d, "to": %d, "communication": 0}' % (i, (i + 1) % 10**5) for i in range(10**5)) + "]}", answers),
            ("a contest with intervals of all times", solve, json.dumps({"problem": {"name": "c", "nodes": {"intervals": [[-largest - 1, largest], [0, largest]], "costs": [[1], [2]], "usages": [[largest], [0]]}, "edges": {"nodes": [], "costs": []}, "usage_limit": largest}}), answers),
            ("a contest whose counts do not match", solve, json.dumps({"problem": {"name": "c", "nodes": {"intervals": [[0, 1]], "costs": [[1], [2]], "usages": [[0]]}, "edges": {"nodes": [[0, 1]], "costs": []}}}), wrong),
            ("a contest with large costs", solve, json.dumps({"problem": {"name": "c", "nodes": {"intervals": [[0, 1]] * 200, "costs": [[99999999999999999, 99999999999999998]] * 200, "usages": [[0, 0]] * 200}, "edges": {"nodes": [], "costs": []}}}), wrong),
            ("a task that needs itself", order, tasks + '"tasks": [' + task.replace("[]", "[0]") + "]}", wrong),
            ("tasks in a cycle", order, tasks + '"tasks": [' + task.replace("[]", "[1]") + "," + task.replace("[]", "[0]") + "]}", wrong),
            ("durations that overflow", order, tasks + '"tasks": [' + task.replace("5", str(largest)) + "," + task.replace("5", str(largest)).replace("[]", "[0]") + "]}", wrong),
            ("a negative duration", order, tasks + '"tasks": [' + task.replace("5", "-5") + "]}", wrong),
            ("a storage of 2^32-2", order, tasks + '"tasks": [' + task[:-1] + f', "outputs": [{{"bytes": 1, "storage": {huge}}}]}}]}}', wrong),
            ("storages that overflow", order, tasks + f'"storages": [{{"bytes": {largest}}}, {{"bytes": {largest}}}], "tasks": [' + task[:-1] + f', "outputs": [{{"bytes": {largest}, "storage": 0}}, {{"bytes": {largest}, "storage": 1}}]}}]}}', wrong),
            ("a group of 2^63-1", order, tasks + f'"groups": [{{"id": {largest}, "size": {largest}, "stride": {largest}}}], "tasks": [' + task + ', {"kind": "collective", "duration": 5, "inputs": [0], "collective": {"op": "all_gather", "group": %d, "bytes_in": %d, "bytes_out": %d}}]}' % (largest, largest, largest), wrong + answers),
            ("a million needs of one task", order, tasks + '"tasks": [' + task + "," + task.replace("[]", "[" + ",".join("0" * 10**6) + "]") + "]}", answers),
            ("100,000 tasks in a chain", order + ["--scheduler", "prefetch", "--bucketing", "none"], tasks + '"tasks": [' + ",".join(task.replace("[]", f"[{i - 1}]" if i else "[]") for i in range(10**5)) + "]}", answers),
            ("a model of 10^12 layers", train, plan(num_hidden_layers=10**12), wrong),
            ("a model of 2^31-1 layers", train, plan(num_hidden_layers=2**31 - 1), wrong),
            ("a model of 2^62 words", train, plan(vocab_size=2**62), wrong),
            ("a model of no layers", train, plan(num_hidden_layers=0), wrong),
            ("a model of 10^15 heads", train, plan(hidden_size=2 * 10**15, num_attention_heads=10**15, num_key_value_heads=10**15), wrong),
            ("a table of measured steps with a row of a gigabyte", ["predict_training", "FILE", "--json"], ("id,model\n", b"x" * 2**20, 1000, ""), wrong),
            ("a table of 2^62 ranks", ["calibrate_device", "FILE", "--json"], f"collective,nodes,ranks,size_bytes,time_us\nall_reduce,{2**62},{2**62},1024,5\nall_reduce,{2**62},{2**62},2048,6\n", wrong + answers),
            ("sizes that overflow", ["calibrate_device", "FILE", "--json"], f"collective,nodes,ranks,size_bytes,time_us\nall_reduce,1,8,{largest},5\nall_reduce,1,8,{largest - 1},1e308\n", wrong + answers),
            ("a mesh of 10^18 devices", ["plan_training", self.configs + "/llama3-1b.json", "--mesh", "1000000000x1000000000", "--json"], None, answers + wrong),
            ("a mesh of a million devices", ["plan_training", self.configs + "/llama3-1b.json", "--mesh", "1048576", "--json", "--seconds", "5"], None, answers + wrong),
            ("a certificate of 2^31 bits", ["check_certificate", "{data}/placement/tiny2-2d-4x2.json", "FILE"], header % "certificate" + f'"of": "placement", "lower_bound": 1, "multipliers": [{{"message_bits": {2**31 - 1}, "price_bits": {2**31 - 1}, "prices": [], "messages": []}}], "cases": [{{"multipliers": 0}}]}}', (1, 2)),
            ("a certificate with cases in a circle", ["check_certificate", "{data}/placement/tiny2-2d-4x2.json", "FILE"], header % "certificate" + '"of": "placement", "lower_bound": 1, "multipliers": [], "cases": [{"vertex": 0, "parts": [[0]], "cases": [0]}]}', (1, 2)),
            ("a certificate that joins many strategies", ["check_certificate", self.wide_problem(placement), "FILE"], header % "certificate" + '"of": "placement", "lower_bound": 1, "reductions": [{"steps": [[1, 0, 2]]}], "multipliers": [{"prices": [], "messages": []}], "cases": [{"reduction": 0, "cases": [1]}, {"multipliers": 0}]}', (1,)),
            ("a certificate that keeps many rows", ["check_certificate", self.wide_problem(placement), "FILE"], header % "certificate" + '"of": "placement", "lower_bound": 1, "reductions": [{"rows": [' + ",".join('{"budget": 0, "time": %d}' % t for t in range(10**5)) + '], "steps": [[1]]}], "multipliers": [{"prices": [], "messages": []}], "cases": [{"reduction": 0, "cases": [1]}, {"multipliers": 0}]}', (1,)),
            ("a certificate of many prices", ["check_certificate", "{data}/placement/tiny2-1d-8-overlap.json", "FILE"], header % "certificate" + '"of": "placement", "overlap": "inclusive", "lower_bound": 1e9, "savings": [' + ",".join(['{"runs": []}'] * 10**4) + '], "multipliers": [{"savings": 0, "prices": [], "messages": []}], "cases": [{"multipliers": 0}]}', (1,)),
            ("a device file cut in half", ["collective_cost", "--calibration", "FILE", "--json"], self.half_a_device(), wrong),
            ("a device of 2^62 ranks", ["collective_cost", "--calibration", "FILE", "--json"], header % "device" + f'"name": "d", "collectives": [{{"op": "all_reduce", "ranks_per_node": {2**62}, "nodes": {2**62}, "bytes": [1, {largest}], "time_us": [1, 1e300]}}]}}', wrong + answers),
            ("nested elements", ["collective_cost", "--topology", "FILE", "--json"], "<system version='1'>" + "<cpu>" * 10**5, wrong),
            ("entities that grow", ["collective_cost", "--topology", "FILE", "--json"], '<!DOCTYPE x [<!ENTITY a "' + "b" * 1000 + '">]><system version="1">' + "&a;" * 1000 + "</system>", wrong),
            ("a gigabyte of XML", ["collective_cost", "--topology", "FILE", "--json"], ("<system version='1'>", b"<a/>" * 2**18, 1000, "</system>"), wrong),
            ("2^62 nodes", ["collective_cost", "--nodes", str(2**62), "--json"], None, wrong + answers),
        ]
        ceiling = 3 << 30  # of address space, for what is packed as well

        def limits():
            resource.setrlimit(resource.RLIMIT_AS, (ceiling, ceiling))

        only = os.environ.get("SHARDWEAVE_FAULTS_ONLY", "")
        for name, words, text, allowed in cases:
            if only not in name:
                continue
            path = os.path.join(self.made, "hostile")
            size = 0
            if text is not None:
                pieces = (text, b"", 0, "") if isinstance(text, str) else text
                self.write_pieces(path, *pieces)
                size = os.path.getsize(path)
            job = Job(name, [path if w == "FILE" else w for w in words])
            start = time.monotonic()
            out = tempfile.mkdtemp(prefix="out-", dir=self.data)
            child = subprocess.Popen(self.line(job, out), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=out, preexec_fn=limits)
            said = None
            while said is None:
                try:
                    said, complained = child.communicate(timeout=10)
                except subprocess.TimeoutExpired:  # on a loaded machine its own time counts
                    if time.clock_gettime((~child.pid << 3) | 2) > 100 or time.monotonic() - start > 3600:
                        break
            shutil.rmtree(out)
            if said is None:
                child.kill()
                child.communicate()
                self.say(job, "no end after 100 s of CPU time")
                continue
            complained = complained.decode(errors="replace")
            lines = [l for l in complained.splitlines() if l.startswith(words[0] + ": ")]
            peak = json.loads(said).get("peak_rss_bytes", 0) / 2**20 if said.strip().startswith(b"{") else 0
            print(f"{name:48} {size:>11,} bytes, status {child.returncode}, {time.monotonic() - start:6.2f} s" +
                  (f", {peak:5.0f} MiB" if peak else "") + (": " + lines[0][:230] if lines else ""), flush=True)
            if child.returncode not in allowed:
                self.say(job, f"status {child.returncode}: {complained[-500:]!r}")
            if child.returncode != 0 and (len(lines) != 1 or len(lines[0]) > 600):
                self.say(job, f"{len(lines)} lines of complaint, expected one that is short: {complained[:300]!r}")


def main():
    programs, configs, data, what = sys.argv[1:5]
    count = int(sys.argv[5]) if len(sys.argv) > 5 else 1000
    seed = int(sys.argv[6]) if len(sys.argv) > 6 else 1
    only = os.environ.get("SHARDWEAVE_FAULTS_ONLY", "")  # part of a job's name
    faults = Faults(programs, configs, data)
    if what == "hostile":
        faults.hostile()
        chosen = []
    else:
        faults.prepare()
    known = subprocess.run([os.path.join(programs, "solve_placement"), "--help"], capture_output=True, text=True).stdout
    chosen = []
    for job in jobs():
        if only not in job.name or not os.path.exists(os.path.join(programs, job.words[0])):
            continue
        if "--solver" in job.words and f"  {job.words[job.words.index('--solver') + 1]} " not in known:
            continue  # its backend is not here
        chosen.append(job)
    if what == "writes":
        faults.writes(chosen)
    elif what != "hostile":
        for job in chosen:
            faults.measure(job)
        {"stops": faults.stops, "deadlines": faults.deadlines, "kills": faults.kills}[what](count, seed, chosen)
    for text in faults.wrong:
        print("WRONG " + text)
    return 1 if faults.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
