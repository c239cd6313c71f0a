#pragma once

#include <array>
#include <string_view>

/// \file
/// What a report looks like: made of docs/page/report.css by tests/cmake/page_parts.cmake.

// clang-format off
namespace shardweave::inline v0::detail {

/// `docs/page/report.css`.
inline constexpr std::array<std::string_view, 1> report_style = {
    R"page(:root { color-scheme: light; --ground: #ffffff; --raised: #f5f6f8; --line: #d5d9e0; --text: #1c2330;
--faint: #5b6472; --accent: #0b63c5; --mark: #ffd54a; --compute: #2f6db3; --compute-backward: #6aa3dc;
--compute-update: #1f4674; --again: #b65fa5; --stall: #d1431f; --packing: #dd9300; --collective: #15866a;
--other: #98a1ae; --tail: #a8412a; --p0: #2f6db3; --p1: #a66b00; --p2: #15866a; --p3: #b65fa5; --p4: #c9502e;
--on: #ffffff; --p5: #6b7785; --p6: #7a63c7; --p7: #8c7a2b; --p8: #1a8fa8; --p9: #a8acb3; }
:root[data-theme="dark"] { color-scheme: dark; --ground: #12161d; --raised: #1b212b; --line: #343d4b;
--text: #e6eaf0; --faint: #a3adbb; --accent: #74b4ff; --mark: #ffd54a; --compute: #5b9be0;
--compute-backward: #2f6db3; --compute-update: #a9cdf5; --again: #d68ac7; --stall: #f0694a; --packing: #eeb143;
--collective: #3fb594; --other: #77818f; --tail: #c9694f;
--p0: #5b9be0; --p1: #eeb143; --p2: #3fb594; --p3: #d68ac7; --p4: #ef7f5d; --on: #10141a;
--p5: #98a4b3; --p6: #a895ef; --p7: #bfae58; --p8: #4fc0d8; --p9: #6d747e; } * { box-sizing: border-box; }
html { scroll-behavior: smooth; scroll-padding-top: 3.2rem; } body { margin: 0; background: var(--ground);
color: var(--text); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
overflow-wrap: anywhere; } a { color: var(--accent); } .skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 1rem; background: var(--ground); z-index: 9; padding: .4rem .8rem; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
header, main, footer { max-width: 84rem; margin: 0 auto; padding: 0 1.2rem; } header { padding-top: 1.4rem; }
h1 { font-size: 1.55rem; line-height: 1.25; margin: 0; } h2 { font-size: 1.15rem; margin: 0 0 .7rem; }
h3 { font-size: .95rem; margin: 1.1rem 0 .4rem; } p { margin: .4rem 0 .8rem; max-width: 62rem; }
.about { color: var(--faint); margin: .2rem 0 0; } nav { position: sticky; top: 0; z-index: 5;
background: var(--ground); border-bottom: 1px solid var(--line); margin-top: 1rem; } nav > div { max-width: 84rem;
margin: 0 auto; padding: .45rem 1.2rem; display: flex; gap: 1.1rem; overflow-x: auto; white-space: nowrap;
align-items: center; } nav a { text-decoration: none; } nav button { margin-left: auto; }
section { padding: 1.5rem 0 .6rem; border-bottom: 1px solid var(--line); } section:last-of-type { border-bottom: 0; }
.tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(10.5rem, 1fr)); gap: .7rem; margin: 1.1rem 0 0; }
.tiles div { background: var(--raised); border-radius: .5rem; padding: .6rem .8rem; }
.tiles dt { color: var(--faint); font-size: .82rem; }
.tiles dd { margin: 0; font-size: 1.25rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; max-width: 100%; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { text-align: left; padding: .22rem .8rem .22rem 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { overflow-wrap: normal; } thead th { color: var(--faint); font-weight: 600; font-size: .82rem; }
tbody th { font-weight: 400; overflow-wrap: anywhere; } td.n, th.n { text-align: right; white-space: nowrap; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 25rem), 1fr)); gap: 0 2.4rem; align-items: start; }
button, select, input[type="search"] { font: inherit; color: inherit; background: var(--raised);
border: 1px solid var(--line); border-radius: .35rem; padding: .2rem .6rem; } button { cursor: pointer; }
button.link { background: none; border: 0; padding: 0; color: var(--accent); text-align: left; text-decoration: underline; }
.bar { display: flex; height: 1.6rem; border-radius: .3rem; overflow: hidden; background: var(--raised); }
.bar i { display: block; min-width: 1px; } .track { position: relative; margin: .1rem 0 .9rem; }
.track .limit { position: absolute; top: -.25rem; bottom: -.25rem; width: 0; border-left: 2px dashed var(--text); }
.legend { display: flex; flex-wrap: wrap; gap: .15rem 1.1rem; font-size: .85rem; color: var(--faint); margin: .35rem 0 .6rem; padding: 0; list-style: none; }
.legend b { color: var(--text); font-weight: 600; }
.key { display: inline-block; width: .8em; height: .8em; border-radius: .15em; margin-right: .35em; vertical-align: -.05em; }
.tools { display: flex; flex-wrap: wrap; gap: .45rem; align-items: center; margin: .3rem 0 .5rem; }
.tools input[type="search"] { flex: 1 1 13rem; min-width: 8rem; }
.tools .count { color: var(--faint); min-width: 5.5rem; font-size: .88rem; }
canvas { display: block; width: 100%; touch-action: pan-y; border-radius: .3rem; cursor: crosshair; }
canvas.still { cursor: default; }
.near { position: fixed; z-index: 8; pointer-events: none; background: var(--text); color: var(--ground); padding: .25rem .55rem; border-radius: .3rem; font-size: .85rem; max-width: 26rem; }
.found { max-height: 13rem; overflow-y: auto; border: 1px solid var(--line); border-radius: .35rem; margin: .4rem 0; padding: 0; list-style: none; }
.found:empty { display: none; }
.found button { width: 100%; border: 0; border-radius: 0; background: none; text-align: left; display: flex; gap: .8rem; justify-content: space-between; }
.found button:hover, .found button[aria-current="true"] { background: var(--raised); }
.found span:last-child { color: var(--faint); white-space: nowrap; }
.picked { background: var(--raised); border-radius: .5rem; padding: .6rem .9rem; margin: .5rem 0; min-height: 3.2rem; }
.picked dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: .1rem 1.4rem; margin: .35rem 0 0; }
.picked dl div { display: flex; gap: .6rem; } .picked dl .wide { grid-column: 1 / -1; }
.picked dt { color: var(--faint); min-width: 5.4rem; } .picked dd { margin: 0; }
.keys { color: var(--faint); font-size: .85rem; }
kbd { border: 1px solid var(--line); border-radius: .25rem; padding: 0 .3em; font: inherit; background: var(--raised); }
table.grid { width: 100%; border-collapse: separate; border-spacing: 1px; table-layout: fixed; font-size: .78rem; }
table.grid th, table.grid td { border: 0; padding: .2rem .3rem; }
table.grid thead th, table.grid td { text-align: center; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; overflow-wrap: normal; }
table.grid thead th { overflow: visible; text-overflow: clip; }
table.grid tbody th { width: 9rem; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; position: sticky; left: 0; background: var(--ground); }
table.grid col.part { width: 9rem; } table.grid col.apart { width: 5rem; }
table.grid td { color: var(--on); border-radius: .2rem; } table.grid td.none { background: none; }
table.grid td.differs { outline: 2px solid var(--text); outline-offset: -2px; font-weight: 600; }
details { border-bottom: 1px solid var(--line); padding: .25rem 0; }
summary { cursor: pointer; display: flex; flex-wrap: wrap; gap: 0 1rem; list-style-position: inside; }
summary::before { content: "▸"; color: var(--faint); } details[open] > summary::before { content: "▾"; }
summary::-webkit-details-marker { display: none; } summary .faint, .faint { color: var(--faint); }
details > ul { margin: .3rem 0 .6rem; padding-left: 1.4rem; }
footer { color: var(--faint); font-size: .85rem; padding-top: 1rem; padding-bottom: 2rem; }
@media (max-width: 38rem) { header, main, footer { padding-left: .8rem; padding-right: .8rem; }
nav > div { padding-left: .8rem; padding-right: .8rem; } .tiles { grid-template-columns: repeat(2, 1fr); }
.tiles dd { font-size: 1.05rem; } table.grid col.part, table.grid tbody th { width: 6rem; } }
@media print { nav, .tools, .keys { display: none; } }
@media (prefers-reduced-motion: reduce) { html { scroll-behavior: auto; } }
)page",
};

}  // namespace shardweave::inline v0::detail
