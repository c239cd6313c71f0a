// The search of the site. `searchIndex` (index.js) lists what there is to find: sections of pages, headers, names,
// programs, each with t (title), p (page), u (address), x (text), k (kind).
"use strict";
(function (whole) {
  // what people say, and what the pages do
  const ALIKE = { warm: "start", license: "licence", checkpointing: "recompute", custom: "own", unit: "nanosecond" };
  const STOP = new Set(("a an and are as at be by can do does for from has have how i in is it its me my of on one or so that the their " +
    "there they this to use used using want was way what when where which who why will with without you your need make get give given mean means write written add set new between much many").split(" "));

  /** Words of a text without their endings; a name also as its parts: "dim_strategy" is that, "dim" and "strategy". */
  const stem = (word) => word.length > 4 ? word.replace(/(ies)$/, "y").replace(/([^s])s$/, "$1").replace(/(ing|ed|er)$/, (end, _, at) => (at > 3 ? "" : end)) : word.replace(/^(\w{3})s$/, "$1");
  function wordsOf(text) {
    const words = [];
    for (const [name] of text.toLowerCase().matchAll(/[a-z0-9_+#]+/g)) {
      if (name.includes("_")) {
        words.push(name);
        for (const part of name.split("_")) if (part) words.push(stem(part));
      } else words.push(stem(name));
    }
    return words;
  }

  let known = null, size = 1;
  /** Where each word stands: word -> [[entry, weight], ...]. */
  function build(entries) {
    const places = new Map();
    const lengths = entries.map((e) => 40 + e.x.length / 6);
    const middle = lengths.reduce((a, b) => a + b, 0) / Math.max(1, lengths.length);
    entries.forEach((e, i) => {
      const own = new Map();
      const add = (text, weight) => wordsOf(text).forEach((w) => own.set(w, (own.get(w) || 0) + weight));
      add(e.t, 5);
      add(e.p, 1.5);
      add(e.u.replace(/\.html.*/, "").replace(/[/-]/g, " "), 1);
      add(e.x, 1);
      for (const [w, n] of own) {
        if (!places.has(w)) places.set(w, []);
        places.get(w).push([i, (n * 2.2) / (n + 1.2 * (0.4 + (0.6 * lengths[i]) / middle))]);
      }
    });
    size = entries.length;
    return places;
  }

  /** The entries that answer a question, the best first. */
  function search(question, entries, most = 20) {
    known = known || build(entries);
    const asked = [...new Set(wordsOf(question))];
    let words = asked.filter((w) => !STOP.has(w));
    if (!words.length) words = asked;
    words = [...new Set(words.map((w) => (known.has(w) ? w : ALIKE[w] || w)))];
    const scores = new Map(), hits = new Map();
    words.forEach((w, n) => {
      const found = new Map();
      const take = (places, share) => {
        const rare = Math.log(1 + size / (places.length + 0.5));
        for (const [i, weight] of places) found.set(i, Math.max(found.get(i) || 0, share * rare * weight));
      };
      if (known.has(w)) take(known.get(w), 1);
      else if (w.length > 2) for (const [other, places] of known) if (other.startsWith(w)) take(places, 0.6);
      for (const [i, score] of found) {
        scores.set(i, (scores.get(i) || 0) + score);
        hits.set(i, (hits.get(i) || 0) + 1);
      }
    });
    const plain = question.toLowerCase().trim();
    const names = plain.match(/[a-z0-9_]+/g) || [];
    return [...scores].map(([i, score]) => {
      const e = entries[i], title = e.t.toLowerCase();
      let sum = score * (hits.get(i) / words.length) ** 1.5;
      if (title === plain) sum *= 3;
      else if (names.some((n) => n.includes("_") && (n === title || n + ".hpp" === title.split("/").pop()))) sum *= 2;
      if (e.k === "page") sum *= 1.15;  // prose answers questions, names answer to names
      if (title === "names and headers") sum *= 0.6;  // a list of everything
      if (e.u.startsWith("changelog") || e.u.startsWith("mechanisms")) sum *= 0.5;
      return [sum, i];
    }).sort((a, b) => b[0] - a[0] || a[1] - b[1]).slice(0, most).map(([score, i]) => ({ ...entries[i], score }));
  }
  whole.searchSite = search;
})(typeof self === "undefined" ? globalThis : self);
