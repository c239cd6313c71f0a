// What a page of the site does: search, light and dark, the list of pages on a phone.
"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const up = document.body.dataset.up;
  const find = $("find"), found = $("found");
  const show = () => {
    const hits = find.value.trim() ? searchSite(find.value, searchIndex, 12) : [];
    found.replaceChildren(...hits.map((hit) => {
      const link = document.createElement("a");
      link.href = up + hit.u;
      const title = document.createElement("b"), where = document.createElement("span"), text = document.createElement("small");
      title.textContent = hit.t;
      where.textContent = hit.k === "page" ? hit.p : hit.k + ", " + hit.p;
      const words = find.value.toLowerCase().split(/\W+/).filter((w) => w.length > 2);
      const at = Math.max(0, Math.min(...words.map((w) => hit.x.toLowerCase().indexOf(w)).filter((n) => n >= 0), Infinity) - 40);
      text.textContent = hit.x.slice(Number.isFinite(at) ? at : 0).slice(0, 160);
      link.append(title, " ", where, text);
      const item = document.createElement("li");
      item.append(link);
      return item;
    }));
    if (find.value.trim() && !hits.length) found.innerHTML = "<li>Nothing was found.</li>";
  };
  find.addEventListener("input", show);
  find.form.addEventListener("submit", (e) => {
    e.preventDefault();
    found.querySelector("a")?.click();
  });
  const links = () => [...found.querySelectorAll("a")];
  document.addEventListener("keydown", (e) => {
    if (e.key === "/" && !/INPUT|TEXTAREA/.test(document.activeElement.tagName)) { find.focus(); find.select(); e.preventDefault(); }
    if (e.key === "Escape") { find.value = ""; show(); }
    const at = links().indexOf(document.activeElement);
    if (e.key === "ArrowDown" && (document.activeElement === find || at >= 0)) { links()[Math.min(at + 1, links().length - 1)]?.focus(); e.preventDefault(); }
    if (e.key === "ArrowUp" && at >= 0) { (at ? links()[at - 1] : find).focus(); e.preventDefault(); }
  });
  let wanted = null;
  try { wanted = localStorage.getItem("theme"); } catch { /* not everywhere */ }
  if (wanted) document.documentElement.dataset.theme = wanted;
  $("theme").addEventListener("click", () => {
    const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    try { localStorage.setItem("theme", theme); } catch { /* not everywhere */ }
  });
  $("menu").addEventListener("click", () => {
    const open = $("navigation").classList.toggle("open");
    $("menu").setAttribute("aria-expanded", String(open));
  });
  const query = new URLSearchParams(location.search).get("q");
  if (query) { find.value = query; show(); }
})();
