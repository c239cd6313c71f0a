// The behaviour of a report. What it shows stands in the page as JSON (see write_html in report/html.hpp); nothing is
// fetched. Times are whole nanoseconds, sizes are bytes.
"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);

  // --- small things ------------------------------------------------------------------------------------------------
  const inUnit = (value, step, units) => {
    let unit = 0;
    while (unit + 1 < units.length && Math.abs(value) >= (unit === 0 ? step : step - 0.005)) {
      value /= step;
      ++unit;
    }
    return value.toFixed(unit === 0 ? 0 : 2) + " " + units[unit];
  };
  const timeText = (ns) => inUnit(ns, 1000, ["ns", "µs", "ms", "s"]);
  const sizeText = (bytes) => inUnit(bytes, 1024, ["B", "KiB", "MiB", "GiB", "TiB"]);
  const countText = (n) => String(n).replace(/\B(?=(\d{3})+$)/g, ",");
  const shareText = (part, whole) => (whole > 0 ? ((100 * part) / whole).toFixed(1) + " %" : "");

  /** An element with attributes (`onclick` and the like are listeners) and children, texts among them. */
  const make = (tag, attributes = {}, ...children) => {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
      if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
      else if (value !== undefined && value !== false) made.setAttribute(name, value === true ? "" : value);
    }
    made.append(...children.flat());
    return made;
  };
  const table = (titles, rows) =>
    make("div", { class: "scroll" },
      make("table", {},
        make("thead", {}, make("tr", {}, titles.map(([title, n]) => make("th", { class: n && "n", scope: "col" }, title)))),
        make("tbody", {}, rows.map((row) => make("tr", {},
          row.map((cell, i) => make(i ? "td" : "th", { class: titles[i][1] && "n", scope: i ? undefined : "row" }, cell)))))));
  const running = (deltas) => {
    let sum = 0;
    return deltas.map((d) => (sum += d));
  };
  const keySquare = (colour) => make("span", { class: "key", style: "background:var(" + colour + ")" });
  const section = (id) => document.getElementById(id);

  // --- the data in a form to work with -----------------------------------------------------------------------------
  const graphs = data.graphs.map((g) => {
    const names = [];
    for (let t = 0; t < g.tasks; ++t)
      names.push((t ? names[t - 1].slice(0, g.names[t].charCodeAt(0) - 35) : "") + g.names[t].slice(1));
    const inputs = [];
    for (let t = 0, at = 0; t < g.tasks; ++t) {
      const own = [];
      for (let i = 0; i < g.inputs.count[t]; ++i) own.push(t - g.inputs.back[at++]);
      inputs.push(own);
    }
    const collectives = new Map();
    g.collectives.task.forEach((t, i) => collectives.set(t, {
      op: g.texts[g.collectives.op[i]], channel: g.collectives.channel[i], bytesIn: g.collectives.in[i],
      bytesOut: g.collectives.out[i] }));
    let users = null;
    return {
      names, inputs, collectives, channels: g.channels, again: new Set(g.again),
      op: (t) => g.texts[g.op[t]],
      phase: (t) => g.phase[t],  // "f", "b", "u", or "-" where it is not known
      users: (t) => {
        if (!users) {
          users = names.map(() => []);
          inputs.forEach((own, user) => own.forEach((from) => { if (users[from].at(-1) !== user) users[from].push(user); }));
        }
        return users[t];
      },
    };
  });

  const kinds = ["work", "launch", "pack", "collective", "wait", "unpack"];
  const colours = { compute: "--compute", backward: "--compute-backward", update: "--compute-update", again: "--again",
    stall: "--stall", packing: "--packing", collective: "--collective", other: "--other" };
  const colourNames = { compute: "computation", backward: "backward computation", update: "update", again: "made again",
    stall: "stall", packing: "packing", collective: "collective", other: "other work" };

  const plans = data.plans.map((p, number) => {
    const g = graphs[p.graph];
    const start = running(p.spans.start), tasks = running(p.spans.task);
    const otherWork = new Set(running(p.spans.other));
    const bucketOf = new Map(p.buckets.flatMap((b, i) => b.members.map((t) => [t, i])));
    let collective = 0, communicating = 0;
    const spans = start.map((from, i) => {
      const kind = kinds[p.spans.kind[i]];
      const task = tasks[i];
      const span = { plan: number, channel: kind === "collective" ? g.collectives.get(task).channel + 1 : 0, kind, task,
        bucket: kind === "work" ? -1 : p.spans.bucket[communicating++] - 1, start: from, end: from + p.spans.length[i] };
      if (kind === "collective") span.launched = from - p.spans.queued[collective++];
      span.colour = kind === "wait" ? "stall" : kind === "pack" || kind === "unpack" ? "packing"
        : kind === "collective" ? "collective"
        : otherWork.has(i) ? "other"
        : g.again.has(task) ? "again"
        : g.phase(task) === "b" ? "backward" : g.phase(task) === "u" ? "update" : "compute";
      return span;
    });
    const collectives = running(p.stalls.collective);
    const stalls = running(p.stalls.wait).map((wait, i) => ({ wait, collective: collectives[i], bucket: p.stalls.bucket[i] - 1,
      length: p.stalls.length[i] }));
    const exposed = new Map();  // by first task of the launch
    for (const s of stalls) exposed.set(s.collective, (exposed.get(s.collective) || 0) + s.length);
    return {
      number, name: p.name, g, totals: p.totals, spans, bucketOf, stalls, exposed, buckets: p.buckets, refused: p.refused, left: p.spans.left_out,
      chain: p.chain && running(p.chain.task).map((task, i) => ({ task, work: data.works[p.chain.work[i]],
        reason: data.reasons[p.chain.reason[i]], length: p.chain.length[i] })),
      memory: p.memory && { time: running(p.memory.time), live: running(p.memory.live), host: running(p.memory.host || []),
        parts: p.memory.parts.map((part) => ({ name: part.name, colour: "--p" + part.number, held: running(part.held) })) },
    };
  });
  const ofBucket = (s) => s.bucket >= 0 && s.kind !== "launch" && s.kind !== "wait";
  const nameOf = (s) => {
    const p = plans[s.plan];
    if (ofBucket(s)) {
      const what = s.kind === "collective" ? p.g.collectives.get(s.task).op + " ×" + p.buckets[s.bucket].members.length : s.kind;
      return what + ", bucket " + s.bucket;
    }
    return (s.kind === "wait" ? "stall: " : "") + p.g.names[s.task];
  };
  const longest = Math.max(1, ...plans.map((p) => p.totals.end_to_end_ns), ...plans.flatMap((p) => p.spans.slice(-1).map((s) => s.end)));

  // --- light and dark ----------------------------------------------------------------------------------------------
  const redraws = [];
  let palette = {};
  const readPalette = () => {
    const style = getComputedStyle(document.documentElement);
    palette = new Proxy({}, { get: (known, name) => (known[name] ??= style.getPropertyValue(name).trim()) });
  };
  const setTheme = (theme) => {
    document.documentElement.dataset.theme = theme;
    readPalette();
    redraws.forEach((draw) => draw());
  };
  const prefersDark = matchMedia("(prefers-color-scheme: dark)");
  const themeButton = document.getElementById("theme");
  themeButton.hidden = false;
  const flipTheme = () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark");
  themeButton.addEventListener("click", flipTheme);
  prefersDark.addEventListener("change", () => setTheme(prefersDark.matches ? "dark" : "light"));
  readPalette();

  /** A canvas that is as sharp as the screen, drawn anew when its width changes: `draw(context, width, height)`. */
  const canvasOf = (canvas, heightOf, draw) => {
    let asked = false;
    const now = () => {
      asked = false;
      const width = canvas.clientWidth || 600, height = heightOf(width), ratio = devicePixelRatio || 1;
      canvas.style.height = height + "px";
      if (canvas.width !== Math.round(width * ratio)) canvas.width = Math.round(width * ratio);
      if (canvas.height !== Math.round(height * ratio)) canvas.height = Math.round(height * ratio);
      const c = canvas.getContext("2d");
      c.setTransform(ratio, 0, 0, ratio, 0, 0);
      c.clearRect(0, 0, width, height);
      c.font = "12px system-ui, sans-serif";
      c.textBaseline = "middle";
      draw(c, width, height);
    };
    const soon = () => {
      if (asked) return;
      asked = true;
      requestAnimationFrame(now);
    };
    new ResizeObserver(soon).observe(canvas);
    redraws.push(now);
    return soon;
  };

  // --- the step ----------------------------------------------------------------------------------------------------
  {
    const here = section("step");
    const end = Math.max(longest, ...data.bounds.map((b) => b.ns));
    for (const p of plans) {
      const t = p.totals;
      const idle = Math.max(0, t.end_to_end_ns - t.compute_ns - t.packing_ns - t.exposed_ns - t.tail_ns);
      const parts = [["computation", "--compute", t.compute_ns], ["packing", "--packing", t.packing_ns],
        ["stalls", "--stall", t.exposed_ns], ["idle", "--line", idle], ["tail", "--tail", t.tail_ns]].filter((x) => x[2] > 0);
      here.append(make("h3", {}, p.name + ": " + timeText(t.end_to_end_ns)),
        make("div", { class: "track" },
          make("div", { class: "bar", role: "img", "aria-label": parts.map(([n, , ns]) => n + " " + timeText(ns)).join(", ") },
            parts.map(([n, colour, ns]) => make("i", { style: "width:" + (100 * ns) / end + "%;background:var(" + colour + ")", title: n + " " + timeText(ns) }))),
          data.bounds.map((b) => make("span", { class: "limit", style: "left:" + (100 * b.ns) / end + "%", title: b.name + ": " + timeText(b.ns) }))),
        make("ul", { class: "legend" }, parts.map(([n, colour, ns]) =>
          make("li", {}, keySquare(colour), n + " ", make("b", {}, timeText(ns)), " " + shareText(ns, t.end_to_end_ns)))));
    }
    if (data.bounds.length)
      here.append(make("p", { class: "faint" }, "Dashed lines, which nothing undercuts: " +
        data.bounds.map((b) => b.name + ", " + timeText(b.ns) +
          (plans[0] && b.ns > 0 ? " (" + plans[0].name + " is at most " + ((100 * plans[0].totals.end_to_end_ns) / b.ns - 100).toFixed(2) + " % above)" : "")).join("; ") + "."));
  }

  // --- the timeline ------------------------------------------------------------------------------------------------
  const timeline = (() => {
    const here = section("timeline");
    const canvas = make("canvas", { tabindex: 0, role: "application", "aria-label": "Timeline of all channels. Arrow keys move and zoom; details of the selected stretch follow below.", id: "channels" });
    const find = make("input", { type: "search", id: "find", placeholder: "Search tasks, operations, buckets", "aria-label": "Search the timeline" });
    const count = make("span", { class: "count", role: "status", id: "found-count" });
    const list = make("ul", { class: "found", id: "found" });
    const picked = make("div", { class: "picked", "aria-live": "polite", id: "picked" }, "Select a stretch of the timeline to see what it is.");
    const near = make("div", { class: "near", hidden: true });
    const endOf = (some) => Math.max(1, ...some.map((p) => Math.max(p.totals.end_to_end_ns, ...p.spans.slice(-1).map((s) => s.end))));
    let shown = plans.slice(0, 1), longest = endOf(shown), from = 0, to = longest, selected = null, hits = [], hitSet = new Set(), hitAt = -1, showChain = false;
    let rows = [];

    const which = make("select", { "aria-label": "Which plan the timeline shows", onchange: () => setShown() },
      plans.map((p, i) => make("option", { value: i }, p.name)), plans.length > 1 ? make("option", { value: "all" }, "all plans") : []);
    const chainBox = make("input", { type: "checkbox", id: "chain-box", onchange: () => { showChain = chainBox.checked; draw(); } });
    here.append(
      make("div", { class: "tools" }, plans.length > 1 ? which : [], find, count,
        make("button", { id: "previous", title: "previous match (Shift+Enter)", onclick: () => nextHit(-1) }, "‹"),
        make("button", { id: "next", title: "next match (Enter)", onclick: () => nextHit(1) }, "›"),
        make("button", { id: "zoom-in", title: "closer (+)", onclick: () => zoom(0.5) }, "+"),
        make("button", { id: "zoom-out", title: "farther (−)", onclick: () => zoom(2) }, "−"),
        make("button", { id: "fit", title: "the whole step (0)", onclick: () => show(0, longest) }, "all"),
        plans.some((p) => p.chain) ? make("label", {}, chainBox, " what the step waits for") : []),
      list, canvas, picked, near,
      make("p", { class: "keys" }, make("kbd", {}, "←"), " ", make("kbd", {}, "→"), " move, ", make("kbd", {}, "↑"), " ", make("kbd", {}, "↓"),
        " zoom, ", make("kbd", {}, "n"), " ", make("kbd", {}, "p"), " next and previous stretch, ", make("kbd", {}, "j"), " ", make("kbd", {}, "k"),
        " next and previous channel, ", make("kbd", {}, "Enter"), " closer to it, ", make("kbd", {}, "0"), " all, ", make("kbd", {}, "/"),
        " search. Wheel with Ctrl, or two fingers, zooms; dragging moves."));
    here.append(make("ul", { class: "legend" }, Object.keys(colours).filter((k) => plans.some((p) => p.spans.some((s) => s.colour === k)))
      .map((k) => make("li", {}, keySquare(colours[k]), colourNames[k]))));
    for (const p of plans)
      if (p.left) here.append(make("p", { class: "faint" }, p.name + ": the " + countText(p.left) + " shortest stretches are left out."));

    const top = 44, rowHeight = 26, headHeight = 18;
    const layOut = () => {
      rows = [];
      let y = top;
      for (const p of shown) {
        if (shown.length > 1) { rows.push({ head: p.name, y, height: headHeight }); y += headHeight; }
        p.g.channels.forEach((channel, c) => {
          const spans = p.spans.filter((s) => s.channel === c && s.end > s.start && s.kind !== "launch").sort((a, b) => a.start - b.start || a.end - b.end);
          if (!spans.length) return;
          rows.push({ plan: p, name: channel.name, spans, y, height: rowHeight });
          y += rowHeight;
        });
        if (p.memory) { rows.push({ plan: p, name: "memory", memory: p.memory, y, height: 64 }); y += 68; }
      }
      return y + 4;
    };
    let tall = layOut();
    const gutterOf = (width) => (width < 600 ? 78 : 150);
    const x = (time, width) => gutterOf(width) + ((time - from) / (to - from)) * (width - gutterOf(width));
    const timeAt = (px) => from + ((px - gutterOf(canvas.clientWidth)) / (canvas.clientWidth - gutterOf(canvas.clientWidth))) * (to - from);
    const clip = (c, text, room) => {
      if (c.measureText(text).width <= room) return text;
      let n = Math.max(0, Math.floor((text.length * room) / c.measureText(text).width) - 1);
      while (n > 0 && c.measureText(text.slice(0, n) + "…").width > room) --n;
      return n > 1 ? text.slice(0, n) + "…" : "";
    };
    const chains = plans.map((p) => {
      const parts = [];
      let end = p.totals.end_to_end_ns;
      for (const step of p.chain || []) { parts.push([end - step.length, end]); end -= step.length; }
      return parts;
    });

    const draw = canvasOf(canvas, () => tall, (c, width, height) => {
      const left = gutterOf(width);
      // the whole step in a strip, and the window on it
      const whole = (time) => left + (time / longest) * (width - left);
      c.fillStyle = palette["--raised"];
      c.fillRect(left, 2, width - left, 16);
      for (const row of rows.filter((r) => r.spans).slice(0, 1)) {
        let last = -1;
        for (const s of row.spans) {
          const a = whole(s.start), b = Math.max(whole(s.end), a + 0.5);
          if (b - last < 0.5) continue;
          c.fillStyle = palette[colours[s.colour]];
          c.fillRect(a, 4, b - a, 12);
          last = b;
        }
      }
      c.strokeStyle = palette["--accent"];
      c.lineWidth = 2;
      c.strokeRect(whole(from) + 1, 1, Math.max(2, whole(to) - whole(from) - 2), 18);
      // time
      c.fillStyle = palette["--faint"];
      c.textAlign = "center";
      let step = 1;
      for (let i = 0; (to - from) / step > Math.max(2, (width - left) / 90); ++i) step = i % 3 === 1 ? step * 2.5 : step * 2;
      for (let time = Math.ceil(from / step) * step; time <= to; time += step) {
        const at = x(time, width);
        c.fillRect(at, 36, 1, height - 40);
        if (at < width - 24 && at > left + 10) c.fillText(inUnit(time, 1000, ["ns", "µs", "ms", "s"]).replace(/\.00 |(\.[1-9])0 /, "$1 "), at, 29);
      }
      c.textAlign = "left";
      const dims = hits.length > 0;
      for (const row of rows) {
        c.fillStyle = palette["--text"];
        if (row.head) { c.font = "600 12px system-ui, sans-serif"; c.fillText(row.head, 0, row.y + 9); c.font = "12px system-ui, sans-serif"; continue; }
        c.fillText(clip(c, row.name, left - 8), 0, row.y + row.height / 2);
        c.save();
        c.beginPath();
        c.rect(left, row.y, width - left, row.height);
        c.clip();
        c.fillStyle = palette["--raised"];
        c.fillRect(left, row.y + 2, width - left, row.height - 4);
        if (row.memory) { stack(c, row.memory, left, width, row.y, row.height, from, to); c.restore(); continue; }
        let lastEnd = -1, lastColour = "";
        for (const s of row.spans) {
          if (s.end < from) continue;
          if (s.start > to) break;
          const a = x(s.start, width), b = Math.max(x(s.end, width), a + 0.75);
          const hit = hitSet.has(s);
          if (b - lastEnd < 0.4 && s.colour === lastColour && !hit && s !== selected) continue;
          c.globalAlpha = dims && !hit ? 0.25 : 1;
          c.fillStyle = palette[colours[s.colour]];
          c.fillRect(a, row.y + 3, b - a, row.height - 6);
          lastEnd = b;
          lastColour = s.colour;
          if (b - a > 46) {
            const faint = c.globalAlpha < 1;
            c.fillStyle = palette[faint ? "--text" : "--on"];
            c.globalAlpha = faint ? 0.6 : 1;
            const begin = Math.max(a, left);
            c.fillText(clip(c, nameOf(s), Math.min(b, width) - begin - 8), begin + 4, row.y + row.height / 2);
          } else if (b - a > 3) {  // neighbours of one colour stay apart
            c.fillStyle = palette["--ground"];
            c.fillRect(b - 0.5, row.y + 3, 0.5, row.height - 6);
          }
          c.globalAlpha = 1;
          if (hit) { c.strokeStyle = palette["--mark"]; c.lineWidth = 2; c.strokeRect(a, row.y + 3, Math.max(b - a, 2), row.height - 6); }
        }
        if (selected && row.spans.includes(selected)) {
          c.strokeStyle = palette["--text"];
          c.lineWidth = 2;
          c.strokeRect(x(selected.start, width) - 1, row.y + 2, Math.max(3, x(selected.end, width) - x(selected.start, width)) + 2, row.height - 4);
        }
        c.restore();
      }
      if (showChain)
        for (const p of shown) {
          const own = rows.filter((r) => r.plan === p && r.spans);
          if (!own.length) continue;
          c.strokeStyle = palette["--text"];
          c.lineWidth = 2;
          c.beginPath();
          (p.chain || []).forEach((stepOfChain, i) => {
            const [a, b] = chains[p.number][i];
            if (b < from || a > to) return;
            const wants = stepOfChain.work === "communication" ? "collective" : stepOfChain.work === "packing" ? "pack" : stepOfChain.work === "unpacking" ? "unpack" : "work";
            const row = wants === "collective" ? own.find((r) => r.name === p.g.channels[p.g.collectives.get(stepOfChain.task).channel + 1].name) || own[0] : own[0];
            const y = row.y + row.height - 2;
            c.moveTo(Math.max(x(a, width), left), y);
            c.lineTo(Math.min(x(b, width), width), y);
          });
          c.stroke();
        }
    });

    const show = (a, b) => {
      const least = Math.min(20, longest);
      let wide = Math.min(longest, Math.max(least, b - a));
      a = Math.max(0, Math.min(longest - wide, (a + b - wide) / 2));
      from = a;
      to = a + wide;
      canvas.dataset.from = Math.round(from);
      canvas.dataset.to = Math.round(to);
      draw();
    };
    /** What is selected stays where it is, if it is seen at all. */
    const focus = () => {
      const middle = selected && shown.includes(plans[selected.plan]) ? (selected.start + selected.end) / 2 : -1;
      return middle >= from && middle <= to ? middle : (from + to) / 2;
    };
    const zoom = (factor, at = focus()) => {
      const wide = Math.min(longest, Math.max(Math.min(20, longest), (to - from) * factor));
      const share = (at - from) / (to - from);
      show(at - share * wide, at - share * wide + wide);
    };
    const move = (share) => {
      const by = Math.max(-from, Math.min(longest - to, share * (to - from)));
      show(from + by, to + by);
    };
    const setShown = (value = which.value) => {
      which.value = value;
      shown = value === "all" ? plans : [plans[Number(value)]];
      longest = endOf(shown);
      tall = layOut();
      search();
      show(0, longest);
    };
    const spanOf = (plan, task) => {
      const bucket = plan.bucketOf.get(task);
      return plan.spans.find((s) => bucket === undefined ? s.task === task && s.kind !== "launch" : s.bucket === bucket && s.kind === "collective");
    };
    const taskLink = (plan, task) => {
      const span = spanOf(plan, task);
      return span ? make("button", { class: "link", onclick: () => select(span, true) }, plan.g.names[task]) : plan.g.names[task];
    };
    const select = (span, closer = false) => {
      selected = span;
      const p = plans[span.plan];
      if (!shown.includes(p)) setShown(String(span.plan));
      if (closer || span.end < from || span.start > to) {
        const wide = Math.max((span.end - span.start) * 6, longest / 400);
        show((span.start + span.end - wide) / 2, (span.start + span.end + wide) / 2);
      }
      const c = p.g.collectives.get(span.task);
      const facts = [["operation", p.g.op(span.task)], ["channel", p.g.channels[span.channel].name], ["start", timeText(span.start)],
        ["takes", timeText(span.end - span.start)]];
      if (p.g.again.has(span.task)) facts.push(["made again", "for the backward part"]);
      if (c && span.kind === "collective") {
        const b = span.bucket >= 0 ? p.buckets[span.bucket] : null;
        facts.push(["bytes in", sizeText(b ? b.bytes_in : c.bytesIn)], ["bytes out", sizeText(b ? b.bytes_out : c.bytesOut)],
          ["launched", timeText(span.launched) + (span.start > span.launched ? ", queued " + timeText(span.start - span.launched) : "")],
          ["stalls", timeText(p.exposed.get(b ? b.members[0] : span.task) || 0)]);
      }
      const listed = (tasks) => tasks.slice(0, 12).flatMap((t, i) => [i ? ", " : "", taskLink(p, t)]).concat(tasks.length > 12 ? [" and " + (tasks.length - 12) + " more"] : []);
      if (ofBucket(span)) facts.push(["members", listed(p.buckets[span.bucket].members)]);
      else {
        if (p.g.inputs[span.task].length) facts.push(["needs", listed([...new Set(p.g.inputs[span.task])])]);
        if (p.g.users(span.task).length) facts.push(["needed by", listed(p.g.users(span.task))]);
      }
      picked.replaceChildren(make("strong", {}, nameOf(span)), make("dl", {}, facts.map(([k, v]) => make("div", { class: Array.isArray(v) && "wide" }, make("dt", {}, k), make("dd", {}, v)))));
      draw();
    };

    // search
    const texts = new Map();  // by plan: what is searched of each stretch
    const textsOf = (p) => {
      if (texts.has(p)) return texts.get(p);
      const members = p.buckets.map((b) => b.members.map((t) => p.g.names[t]).join(" "));
      texts.set(p, p.spans.map((s) => s.kind === "launch" || (s.kind === "wait" && s.end === s.start) ? "" :
        (nameOf(s) + " " + p.g.op(s.task) + " " + colourNames[s.colour] + " " + p.g.channels[s.channel].name +
          (s.bucket >= 0 && s.kind === "collective" ? " " + members[s.bucket] : "")).toLowerCase()));
      return texts.get(p);
    };
    const search = () => {
      const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
      hits = [];
      hitAt = -1;
      if (words.length)
        for (const p of shown)
          textsOf(p).forEach((text, i) => { if (text && words.every((w) => text.includes(w))) hits.push(p.spans[i]); });
      hitSet = new Set(hits);
      count.textContent = words.length ? countText(hits.length) + (hits.length === 1 ? " match" : " matches") : "";
      list.replaceChildren(...hits.slice(0, 100).map((s, i) => make("li", {}, make("button", { onclick: () => { hitAt = i - 1; nextHit(1); } },
        make("span", {}, nameOf(s)), make("span", {}, timeText(s.end - s.start) + " at " + timeText(s.start))))));
      if (hits.length > 100) list.append(make("li", { class: "faint" }, "and " + countText(hits.length - 100) + " more"));
      draw();
    };
    const nextHit = (by) => {
      if (!hits.length) return;
      hitAt = (hitAt + by + hits.length) % hits.length;
      [...list.querySelectorAll("button")].forEach((b, i) => i === hitAt ? b.setAttribute("aria-current", "true") : b.removeAttribute("aria-current"));
      count.textContent = countText(hitAt + 1) + " of " + countText(hits.length);
      select(hits[hitAt], true);
    };
    find.addEventListener("input", search);
    find.addEventListener("keydown", (e) => {
      if (e.key === "Enter") { nextHit(e.shiftKey ? -1 : 1); e.preventDefault(); }
      if (e.key === "Escape") { find.value = ""; search(); canvas.focus(); }
    });

    // keys
    const step = (by) => {
      const row = rows.find((r) => r.spans && selected && r.spans.includes(selected)) || rows.find((r) => r.spans);
      if (!row) return;
      const at = selected ? row.spans.indexOf(selected) : -1;
      const first = row.spans.findIndex((s) => s.end > from);
      select(row.spans[at < 0 ? Math.max(0, first) : Math.max(0, Math.min(row.spans.length - 1, at + by))]);
    };
    const stepRow = (by) => {
      const all = rows.filter((r) => r.spans);
      if (!all.length) return;
      const at = selected ? all.findIndex((r) => r.spans.includes(selected)) : -1;
      const row = all[(at + by + all.length) % all.length];
      const time = selected ? selected.start : from;
      select(row.spans.find((s) => s.end >= time) || row.spans.at(-1));
    };
    const keys = {
      ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2), a: () => move(-0.2), d: () => move(0.2),
      ArrowUp: () => zoom(0.6), ArrowDown: () => zoom(1 / 0.6), w: () => zoom(0.6), s: () => zoom(1 / 0.6), "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6),
      Home: () => show(0, to - from), End: () => show(longest - (to - from), longest), 0: () => show(0, longest),
      n: () => step(1), p: () => step(-1), j: () => stepRow(1), k: () => stepRow(-1), Enter: () => { if (selected) select(selected, true); },
    };
    canvas.addEventListener("keydown", (e) => {
      if (e.ctrlKey || e.metaKey || e.altKey || !Object.hasOwn(keys, e.key)) return;
      keys[e.key]();
      e.preventDefault();
    });
    document.addEventListener("keydown", (e) => {
      if (e.key === "/" && !/INPUT|SELECT|TEXTAREA/.test(document.activeElement.tagName)) { find.focus(); e.preventDefault(); }
    });

    // pointer
    const pointers = new Map();
    let dragged = 0;
    const at = (e) => { const box = canvas.getBoundingClientRect(); return [e.clientX - box.left, e.clientY - box.top]; };
    const spanAt = ([px, py]) => {
      const row = rows.find((r) => r.spans && py >= r.y && py < r.y + r.height);
      if (!row || px < gutterOf(canvas.clientWidth)) return null;
      const time = timeAt(px), slack = (3 * (to - from)) / canvas.clientWidth;
      let best = null, gap = slack;
      for (const s of row.spans) {
        if (s.start - slack > time) break;
        const off = Math.max(0, s.start - time, time - s.end);
        if (off <= gap) { best = s; gap = off; }
      }
      return best;
    };
    canvas.addEventListener("wheel", (e) => {
      if (e.ctrlKey || e.metaKey) zoom(Math.exp(e.deltaY / 300), timeAt(at(e)[0]));
      else if (Math.abs(e.deltaX) > Math.abs(e.deltaY) || e.shiftKey) move((e.deltaX || e.deltaY) / canvas.clientWidth);
      else return;
      e.preventDefault();
    }, { passive: false });
    canvas.addEventListener("pointerdown", (e) => {
      pointers.set(e.pointerId, at(e));
      dragged = 0;
      canvas.setPointerCapture(e.pointerId);
    });
    const strip = ([px, py]) => py < 20 && px > gutterOf(canvas.clientWidth);
    const toStrip = ([px]) => {
      const left = gutterOf(canvas.clientWidth), middle = ((px - left) / (canvas.clientWidth - left)) * longest;
      show(middle - (to - from) / 2, middle + (to - from) / 2);
    };
    canvas.addEventListener("pointermove", (e) => {
      const now = at(e), before = pointers.get(e.pointerId);
      if (before) {
        dragged += Math.abs(now[0] - before[0]);
        if (pointers.size === 2) {
          const [a, b] = [...pointers.entries()].map(([id, place]) => [place[0], id === e.pointerId ? now[0] : place[0]]);
          const was = Math.abs(a[0] - b[0]), is = Math.abs(a[1] - b[1]);
          if (was > 8 && is > 8) zoom(was / is, timeAt((a[1] + b[1]) / 2));
        } else if (strip(now)) toStrip(now);
        else move((before[0] - now[0]) / (canvas.clientWidth - gutterOf(canvas.clientWidth)));
        pointers.set(e.pointerId, now);
        near.hidden = true;
        return;
      }
      const span = spanAt(now);
      near.hidden = !span;
      if (!span) return;
      near.textContent = nameOf(span) + ", " + timeText(span.end - span.start);
      near.style.left = Math.min(e.clientX + 12, innerWidth - 240) + "px";
      near.style.top = e.clientY + 16 + "px";
    });
    const released = (e) => {
      const place = pointers.get(e.pointerId);
      pointers.delete(e.pointerId);
      if (!place || e.type !== "pointerup" || dragged > 4) return;
      if (strip(place)) toStrip(place);
      const span = spanAt(place);
      if (span) select(span);
    };
    canvas.addEventListener("pointerup", released);
    canvas.addEventListener("pointercancel", released);
    canvas.addEventListener("pointerleave", () => { near.hidden = true; });
    show(0, longest);
    return { select, taskLink, spanOf, search: (text) => { find.value = text; search(); } };
  })();

  // --- memory ------------------------------------------------------------------------------------------------------
  /** The parts above each other from time `a` to `b`, as tall as the peak of all plans. */
  function stack(c, memory, left, right, y, height, a, b) {
    const peak = Math.max(1, ...plans.map((p) => p.totals.peak_bytes), ...plans.flatMap((p) => (p.memory ? [Math.max(...p.memory.live)] : [])));
    const columns = Math.max(1, Math.round(right - left));
    const most = new Int32Array(columns);  // by column: the sample with the most bytes, or the last one before it
    for (let i = 0, at = 0; i < columns; ++i) {
      const end = a + ((b - a) * (i + 1)) / columns;
      let best = -1;
      for (; at < memory.time.length && memory.time[at] <= end; ++at)
        if (best < 0 || memory.live[at] >= memory.live[best] || memory.time[best] < a) best = at;
      const over = at === memory.time.length && best < 0 && end - (b - a) / columns > memory.time[at - 1];
      most[i] = best >= 0 ? best : over ? -1 : at - 1;
    }
    const floor = new Float64Array(columns);
    for (const part of memory.parts) {
      c.fillStyle = palette[part.colour];
      for (let i = 0; i < columns; ++i) {
        if (most[i] < 0) continue;
        const tall = (part.held[most[i]] / peak) * (height - 4);
        if (tall <= 0) continue;
        c.fillRect(left + i, y + height - 2 - floor[i] - tall, 1.2, tall);
        floor[i] += tall;
      }
    }
    return most;
  }
  {
    const here = section("memory");
    const withMemory = plans.filter((p) => p.memory && p.memory.live.length);
    if (!withMemory.length) here.append(make("p", {}, "The timeline has no memory samples."));
    for (const p of withMemory) {
      const canvas = make("canvas", { class: "still", role: "img", "aria-label": "Live bytes over time, by what they are held for" });
      const told = make("p", { class: "faint", role: "status" }, "Peak " + sizeText(p.totals.peak_bytes) + ". Point at the picture to read it.");
      let samples = [];
      canvasOf(canvas, () => 190, (c, width) => {
        c.fillStyle = palette["--raised"];
        c.fillRect(0, 0, width, 172);
        samples = stack(c, p.memory, 0, width, 0, 172, 0, longest);
        c.fillStyle = palette["--faint"];
        c.textAlign = "left";
        c.fillText("0", 2, 182);
        c.textAlign = "right";
        c.fillText(timeText(longest), width - 2, 182);
        if (p.memory.host.length) {
          const most = Math.max(...p.memory.host);
          c.strokeStyle = palette["--text"];
          c.setLineDash([4, 3]);
          c.beginPath();
          samples.forEach((s, i) => { if (s >= 0) c.lineTo(i, 170 - (p.memory.host[s] / Math.max(1, most)) * 80); });
          c.stroke();
          c.setLineDash([]);
        }
      });
      const parts = p.memory.parts.filter((part) => part.held.some((h) => h > 0));
      canvas.addEventListener("pointermove", (e) => {
        const s = samples[Math.floor(e.clientX - canvas.getBoundingClientRect().left)];
        if (s === undefined || s < 0) return;
        told.textContent = "At " + timeText(p.memory.time[s]) + ": " + sizeText(p.memory.live[s]) + " — " +
          parts.filter((part) => part.held[s] > 0).map((part) => part.name + " " + sizeText(part.held[s])).join(", ") +
          (p.memory.host.length ? "; on the host " + sizeText(p.memory.host[s]) : "");
      });
      const peak = p.memory.live.indexOf(Math.max(...p.memory.live));
      const dropped = p.memory.host.length ? Math.max(...p.memory.host) : 0;
      here.append(plans.length > 1 ? make("h3", {}, p.name) : "", canvas, told,
        table([["held for"], ["where most is held", true], ["at most", true]], [
          ...parts.map((part) => [make("span", {}, keySquare(part.colour), part.name), sizeText(part.held[peak]), sizeText(Math.max(...part.held))]),
          ["all", sizeText(p.memory.live[peak]), sizeText(p.totals.peak_bytes)],
          ...(dropped ? [["on the host (dashed)", sizeText(p.memory.host[peak]), sizeText(dropped)]] : [])]));
    }
  }

  // --- what the step waits for -------------------------------------------------------------------------------------
  {
    const here = section("waits");
    const p = plans[0];
    const columns = make("div", { class: "columns" });
    here.append(columns);
    if (data.prices.length)
      columns.append(make("div", {}, make("h3", {}, "What the bound is made of"),
        table([["work"], ["share", true]], data.prices.map((x) => [x.name, (100 * x.share).toFixed(1) + " %"]))));
    const chainOf = (q) => {
      const sums = new Map(), ops = new Map();
      const count = (map, key, ns) => {
        const [n, sum] = map.get(key) || [0, 0];
        map.set(key, [n + 1, sum + ns]);
      };
      for (const piece of q.chain) {
        count(sums, piece.work + " · " + piece.reason.replace("_", " "), piece.length);
        count(ops, q.g.op(piece.task), piece.length);
      }
      const rowsOf = (map) => [...map].sort((a, b) => b[1][1] - a[1][1]).slice(0, 12).map(([k, [n, ns]]) => [k, countText(n), timeText(ns), shareText(ns, q.totals.end_to_end_ns)]);
      return [make("div", {}, make("h3", {}, "The chain of work that makes the step"),
          table([["work · why not earlier"], ["pieces", true], ["time", true], ["share", true]], rowsOf(sums))),
        make("div", {}, make("h3", {}, "That chain by operation"), table([["operation"], ["pieces", true], ["time", true], ["share", true]], rowsOf(ops)))];
    };
    const stallsOf = (q) => {
      const worst = [...q.stalls].sort((a, b) => b.length - a.length);
      return make("div", {}, make("h3", {}, "Stalls"),
        worst.length ? table([["collective"], ["channel"], ["stall", true]], worst.slice(0, 12).map((s) => {
          const span = q.spans.find((x) => x.kind === "wait" && x.task === s.wait);
          const name = s.bucket >= 0 ? "bucket " + s.bucket + " (" + q.g.names[s.collective] + ")" : q.g.names[s.collective];
          const c = q.g.collectives.get(s.collective);
          return [span ? make("button", { class: "link", onclick: () => { timeline.select(span, true); section("timeline").scrollIntoView(); } }, name) : name,
            c ? q.g.channels[c.channel + 1].name : "", timeText(s.length)];
        })) : make("p", {}, "Nothing waits."),
        worst.length > 12 ? make("p", { class: "faint" }, "and " + countText(worst.length - 12) + " more") : "");
    };
    for (const q of plans) {
      const all = [...(q.chain && q.chain.length ? chainOf(q) : []), stallsOf(q)];
      if (q === p) columns.append(...all);
      else here.append(make("details", {}, make("summary", {}, q.name), make("div", { class: "columns" }, all)));
    }
    if (!p) here.append(make("p", {}, "There is no plan."));
  }

  // --- placement ---------------------------------------------------------------------------------------------------
  {
    const here = section("placement");
    const placed = data.placement;
    if (here && placed) {
      const all = placed.plans.map((p) => {
        const rows = { ...placed.plans[0].rows, ...p.rows };
        const uses = placed.labels.map(() => 0);
        const cells = placed.kinds.map(() => new Map());  // by kind, part and layer: rows
        rows.label.forEach((label, i) => {
          ++uses[label];
          const parts = cells[rows.kind[i]];
          if (!parts.has(rows.part[i])) parts.set(rows.part[i], new Map());
          const own = parts.get(rows.part[i]);
          if (!own.has(rows.layer[i])) own.set(rows.layer[i], []);
          own.get(rows.layer[i]).push(i);
        });
        const labels = (kind, part, layer) => (cells[kind].get(part)?.get(layer) || []).map((r) => rows.label[r]);
        return { name: plans[p.plan].name, rows, uses, cells, labels };
      });
      const total = placed.labels.map((_, label) => all.reduce((sum, p) => sum + p.uses[label], 0));
      const order = placed.labels.map((_, i) => i).sort((a, b) => total[b] - total[a] || a - b);
      const colourOf = new Map(order.map((label, i) => [label, "--p" + Math.min(i, 9)]));
      const number = (layer) => (/^\d+$/.test(placed.layers[layer]) ? Number(placed.layers[layer]) : -1);
      const textOf = (labels) => [...new Set(labels.map((label) => placed.labels[label]))].join(", ") || "nothing";
      /** Values of a kind, and how many of them another plan places in another way. */
      const counts = (kind, shown, other) => {
        let values = 0, apart = 0;
        shown.cells[kind].forEach((own, part) => own.forEach((rows, layer) => {
          const there = other ? other.labels(kind, part, layer) : [];
          values += rows.length;
          if (other) apart += rows.filter((r, i) => shown.rows.label[r] !== there[i]).length;
        }));
        return [values, apart];
      };
      const draw = (kind, shown, other) => {
        const cells = shown.cells[kind];
        const layers = [...new Set([...cells.values()].flatMap((own) => [...own.keys()]))];
        layers.sort((a, b) => number(a) - number(b) || a - b);
        const body = make("tbody");
        for (const [part, own] of cells) {
          const row = make("tr", {}, make("th", { scope: "row", title: placed.parts[part] }, placed.parts[part]));
          const there = (layer) => (other ? other.labels(kind, part, layer) : []);
          const keyOf = (layer) => {
            const labels = shown.labels(kind, part, layer);
            return String([...new Set(labels)]) + (other && String(labels) !== String(there(layer)) ? "|" + there(layer) : "");
          };
          for (let i = 0; i < layers.length;) {  // layers that are placed alike are one cell
            const same = own.get(layers[i]) || [];
            const key = keyOf(layers[i]);
            let end = i + 1;
            while (end < layers.length && keyOf(layers[end]) === key) ++end;
            if (!same.length) row.append(make("td", { class: "none", colspan: end - i }));
            else {
              const differs = key.includes("|");
              const text = textOf(shown.labels(kind, part, layers[i]));
              let bytes = 0, n = 0;
              for (let l = i; l < end; ++l) for (const r of own.get(layers[l])) { bytes += Number(placed.sizes[shown.rows.size[r]]); ++n; }
              const range = placed.layers[layers[i]] + (end - i > 1 ? "–" + placed.layers[layers[end - 1]] : "");
              row.append(make("td", { colspan: end - i, class: differs && "differs", style: "background:var(" + colourOf.get(shown.rows.label[same[0]]) + ")",
                title: placed.parts[part] + ", " + (number(layers[i]) < 0 ? "" : "layer ") + range + ": " + text + "; " + n + " of " + sizeText(bytes) + " per device" +
                  (differs ? "; " + other.name + ": " + textOf(there(layers[i])) : "") }, (differs ? "≠ " : "") + text));
            }
            i = end;
          }
          body.append(row);
        }
        const every = Math.max(1, Math.ceil(layers.length / 16));
        return make("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Placement by layer" }, make("table", { class: "grid", style: "min-width:" + Math.min(60, 12 + layers.length * 0.7) + "rem" },
          make("colgroup", {}, make("col", { class: "part" }), layers.map((l) => make("col", { class: number(l) < 0 && "apart" }))),
          make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ""), layers.map((l, i) =>
            make("th", { scope: "col" }, number(l) < 0 ? placed.layers[l] : i + 1 === layers.length || (number(l) % every === 0 && i + every / 2 < layers.length - 1) ? placed.layers[l] : "")))),
          body));
      };
      const opened = new Set([0]);
      const picture = make("div");
      const told = make("span", { class: "count", role: "status" });
      /** One of the placements; what the one beside it places in another way is marked. */
      const show = (i) => {
        const shown = all[i], other = all[i === 0 ? 1 : 0];
        const of = placed.kinds.map((_, kind) => counts(kind, shown, other));
        const differing = of.reduce((sum, [, apart]) => sum + apart, 0);
        if (other) told.textContent = countText(differing) + " of " + countText(of.reduce((sum, [values]) => sum + values, 0)) +
          " values are placed in another way than in “" + other.name + "”" + (differing ? ", marked ≠" : "");
        const name = (kind) => placed.kinds[kind] + (other ? ": " + countText(of[kind][1]) + " of " + countText(of[kind][0]) + " in another way" : "");
        picture.replaceChildren(
          make("ul", { class: "legend" }, order.filter((label) => shown.uses[label]).slice(0, 24).map((label) => make("li", {}, keySquare(colourOf.get(label)), placed.labels[label] + " ", make("b", {}, countText(shown.uses[label]))))),
          ...placed.kinds.flatMap((_, kind) => {
            if (kind === 0) return [make("h3", {}, name(0)), draw(0, shown, other)];
            const more = make("details", { open: opened.has(kind), ontoggle: () => {
              more.open ? opened.add(kind) : opened.delete(kind);
              if (more.open && more.children.length === 1) more.append(draw(kind, shown, other));
            } }, make("summary", {}, name(kind)));
            return [more];
          }));
      };
      const which = make("select", { "aria-label": "Whose placement", onchange: () => show(Number(which.value)) },
        all.map((p, i) => make("option", { value: i }, p.name)));
      if (all.length > 1) here.append(make("div", { class: "tools" }, which, told));
      here.append(picture);
      show(0);
    }
  }

  // --- buckets -----------------------------------------------------------------------------------------------------
  {
    const here = section("buckets");
    for (const p of plans) {
      if (!p.buckets.length && !p.refused.length) continue;
      here.append(make("h3", {}, p.name + ": " + countText(p.buckets.length) + (p.buckets.length === 1 ? " bucket" : " buckets")));
      const list = make("div", { class: "buckets" });
      let told = 0;
      const more = () => {
        for (const end = Math.min(p.buckets.length, told + 50); told < end; ++told) {
          const number = told, b = p.buckets[number];
          const c = p.g.collectives.get(b.members[0]);
          const span = p.spans.find((s) => s.kind === "collective" && s.bucket === number);
          const stalled = p.exposed.get(b.members[0]) || 0;
          const item = make("details", { ontoggle: () => {
            if (!item.open || item.children.length > 1) return;
            item.append(make("ul", {}, b.members.map((t) => make("li", {}, timeline.taskLink(p, t), " ",
              make("span", { class: "faint" }, sizeText(p.g.collectives.get(t).bytesIn) + " in")))));
            if (span) item.append(make("p", {}, make("button", { onclick: () => { timeline.select(span, true); section("timeline").scrollIntoView(); } }, "show in the timeline")));
          } }, make("summary", {}, make("b", {}, "bucket " + number), " " + c.op + " ×" + b.members.length,
            make("span", { class: "faint" }, p.g.channels[b.channel + 1].name), make("span", { class: "faint" }, sizeText(b.bytes_in) + " in"),
            make("span", { class: "faint" }, (span ? timeText(span.end - span.start) : "") + ", alone " + timeText(b.alone_ns) +
              (stalled ? ", stalls " + timeText(stalled) : "") + (b.coalesced ? ", one group of calls" : ""))));
          list.append(item);
        }
        rest.hidden = told >= p.buckets.length;
        rest.textContent = "show more of " + countText(p.buckets.length);
      };
      const rest = make("button", { onclick: more });
      here.append(list, rest);
      more();
      if (p.refused.length) here.append(make("h3", {}, p.name + ": what was not merged, and why"));
      for (const r of p.refused) {
        const item = make("details", { ontoggle: () => {
          if (!item.open || item.children.length > 1) return;
          item.append(make("ul", {}, r.items.map(([subject, other, found, limit]) => make("li", {}, timeline.taskLink(p, subject),
            other >= 0 ? [", because of ", timeline.taskLink(p, other)] : [], limit ? " (" + countText(found) + ", allowed " + countText(limit) + ")" : ""))),
            r.times > r.items.length ? make("p", { class: "faint" }, "and " + countText(r.times - r.items.length) + " more") : "");
        } }, make("summary", {}, make("b", {}, r.reason.replaceAll("_", " ")), " " + r.meaning,
          make("span", { class: "faint" }, countText(r.times) + " times, " + countText(r.collectives) + " collectives")));
        here.append(item);
      }
    }
    if (here.children.length === 1) here.append(make("p", {}, "Every collective is launched alone."));
  }

  const wanted = new URLSearchParams(location.hash.slice(1));
  if (wanted.has("find")) timeline.search(wanted.get("find"));
  if (wanted.has("theme")) setTheme(wanted.get("theme"));
  redraws.forEach((draw) => draw());  // the first picture waits for no frame of the browser
  document.documentElement.dataset.ready = "true";
})();
