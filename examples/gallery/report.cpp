// A plan for people (text, a picture, a page for a browser) and for tools (Chrome trace, Graphviz, CSV).
//
//   report           prints a summary
//   report FILE.svg  draws the timeline too
//   report FILE.html writes all of it as a page
#include "support/small_step.hpp"
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/report/csv.hpp>
#include <shardweave/report/graphviz.hpp>
#include <shardweave/report/html.hpp>
#include <shardweave/report/summary.hpp>
#include <shardweave/report/svg_timeline.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

namespace sw = shardweave;

int main(int argc, char** argv) {
  const sw::task_graph g = programs::small_step();
  const sw::schedule s = sw::schedule_tasks(g, {}, sw::prefetch{});
  const sw::timeline before = sw::simulate(g);
  const sw::timeline after = sw::simulate(g, s, {.memory_samples = true});

  // [text]
  const std::vector<sw::named_timeline> both = {{"as given", &before}, {"scheduled", &after}};
  std::fputs(sw::collective_summary(g, s.buckets).c_str(), stdout);
  std::fputs("\n", stdout);
  std::fputs(sw::timeline_summary(both).c_str(), stdout);
  // [text]

  // [files]
  std::string trace;  // the library makes text; where it goes is the host's affair
  sw::write_chrome_trace([&](std::string_view piece) { trace += piece; }, g, s, after);
  const std::string picture = sw::svg_timeline(g, s, after, {.title = "a small step", .width = 900});
  const std::string dot = sw::graphviz(g, s);
  const std::string table = sw::tasks_csv(g, s, after);
  // [files]

  // [html]
  const sw::schedule given = sw::in_order{}(g, {});
  const std::vector<sw::html_plan> plans = {{.name = "scheduled", .graph = &g, .order = &s, .line = &after},
                                            {.name = "as given", .graph = &g, .order = &given, .line = &before}};
  const std::string page =
      sw::html(plans, {.title = "a small step", .bounds = {{"any order", sw::makespan_bound(g, s.buckets).value()}}});
  // [html]
  std::printf("\n%zu bytes of trace, %zu of SVG, %zu of HTML, %zu of Graphviz, %zu of CSV\n", trace.size(),
              picture.size(), page.size(), dot.size(), table.size());
  const bool as_page = argc > 1 && std::string_view(argv[1]).ends_with(".html");
  if (argc > 1 && !(std::ofstream(argv[1]) << (as_page ? page : picture))) {
    std::fprintf(stderr, "report: %s: cannot be written\n", argv[1]);
    return 2;
  }
  const auto tells = [](const std::string& text, std::string_view what) {
    return text.find(what) != std::string::npos;
  };
  return tells(trace, "\"traceEvents\"") && tells(trace, "gather3") && tells(picture, "</svg>") &&
                 tells(page, "</html>") && tells(dot, "digraph") && tells(table, "forward0")
             ? 0
             : 1;
}
