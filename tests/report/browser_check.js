// Runs in a report, in a browser, behind the page's own script: what a reader does by keys, and what the page then shows.
// Writes "ok", or what was wrong, into the attribute data-checked of the document.
(async () => {
  const wrong = [];
  addEventListener("error", (e) => wrong.push("error: " + e.message));
  const expect = (holds, what) => { if (!holds) wrong.push(what); };
  const $ = (id) => document.getElementById(id);
  const frame = () => new Promise((done) => setTimeout(done, 100));
  const press = (where, key, more = {}) => where.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more }));
  const data = JSON.parse($("data").textContent);
  const plan = data.plans[0], totals = plan.totals;
  try {
    await frame();
    expect(document.documentElement.dataset.ready === "true", "the script has not come to its end");
    expect(document.documentElement.scrollWidth <= innerWidth, "the page is wider than the window: " + document.documentElement.scrollWidth + " > " + innerWidth);

    // figures
    const ms = (totals.end_to_end_ns / 1e6).toFixed(2) + " ms";
    expect(totals.end_to_end_ns >= 1e6 && $("figures").textContent.includes(ms), "the table does not tell " + ms);
    expect($("step").textContent.includes(ms), "the step does not tell " + ms);

    // the whole step is drawn
    const canvas = $("channels");
    const window_ = () => [Number(canvas.dataset.from), Number(canvas.dataset.to)];
    expect(window_()[0] === 0 && window_()[1] === totals.end_to_end_ns, "the timeline begins with " + window_());
    const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
    const seen = new Set();
    for (let i = 0; i < pixels.length; i += 4) if (pixels[i + 3] === 255) seen.add((pixels[i] << 16) | (pixels[i + 1] << 8) | pixels[i + 2]);
    expect(seen.size >= 4, "the timeline has " + seen.size + " colours");

    // search: the key, the matches, the first one, and closer to it
    press(document.body, "/");
    expect(document.activeElement === $("find"), "/ does not lead to the search");
    $("find").value = "gather3";
    $("find").dispatchEvent(new Event("input"));
    const first = $("found-count").textContent;
    expect(/^[1-9]\d* match/.test(first), "searching gather3 tells '" + first + "'");
    expect($("found").querySelectorAll("button").length === parseInt(first), "the list has not as many matches");
    press($("find"), "Enter");
    await frame();
    expect($("picked").textContent.includes("gather3") || $("picked").textContent.includes("members"), "Enter selects '" + $("picked").textContent + "'");
    const close = window_();
    expect(close[1] - close[0] < totals.end_to_end_ns, "a match is not shown closer");
    $("find").value = "no such task";
    $("find").dispatchEvent(new Event("input"));
    expect($("found-count").textContent === "0 matches", "nothing is found as '" + $("found-count").textContent + "'");
    press($("find"), "Escape");
    expect(document.activeElement === canvas, "Escape does not lead back to the timeline");

    // keys of the timeline
    press(canvas, "0");
    await frame();
    expect(window_()[1] - window_()[0] === totals.end_to_end_ns, "0 does not show all");
    press(canvas, "ArrowUp");
    press(canvas, "ArrowUp");
    await frame();
    const zoomed = window_();
    expect(Math.abs((zoomed[1] - zoomed[0]) / totals.end_to_end_ns - 0.36) < 0.01, "two steps closer show " + zoomed);
    press(canvas, "Home");
    press(canvas, "ArrowRight");
    await frame();
    expect(Math.abs(window_()[0] - 0.2 * (zoomed[1] - zoomed[0])) < 2, "a step to the right begins with " + window_()[0]);
    const told = new Set();
    for (let i = 0; i < 3; ++i) { press(canvas, "n"); told.add($("picked").firstChild.textContent); }
    expect(told.size === 3, "n goes through " + [...told]);
    const before = $("picked").textContent;
    press(canvas, "j");
    expect($("picked").textContent !== before, "j stays on its channel");
    press(canvas, "k");

    // plans beside each other
    const plans = document.querySelector("#timeline select");
    expect(plans && plans.options.length === data.plans.length + 1, "the timeline does not offer all plans");
    plans.value = "all";
    plans.dispatchEvent(new Event("change"));
    await frame();
    expect(window_()[1] === Math.max(...data.plans.map((p) => p.totals.end_to_end_ns)), "both plans end at " + window_()[1]);
    expect($("figures").querySelectorAll("thead th").length === 4, "the figures do not stand beside each other");

    // every part of the page can be reached and opened by keys: links, buttons, summaries
    for (const summary of document.querySelectorAll("summary")) {
      summary.click();
      await frame();
      expect(summary.parentElement.children.length > 1, "nothing opens below '" + summary.textContent + "'");
    }
    expect(document.querySelectorAll("#buckets details").length >= plan.buckets.length, "not every bucket is listed");
    expect(document.querySelectorAll("#memory canvas").length === 1, "there is no picture of the memory");

    // light and dark
    const ground = () => getComputedStyle(document.body).backgroundColor;
    const was = ground();
    $("theme").click();
    await frame();
    expect(ground() !== was, "the button does not change light and dark");
  } catch (e) {
    wrong.push(String(e) + " " + e.stack);
  }
  document.documentElement.dataset.checked = wrong.length ? wrong.join("; ") : "ok";
})();
