// expect: A sink of text must be called with a std::string_view
// doors: 3
#include <shardweave/report/chrome_trace.hpp>
#include <shardweave/report/graphviz.hpp>
#include <shardweave/report/html.hpp>
namespace sw = shardweave;
#ifdef SHARDWEAVE_REFUSED
using given = int;
#else
using given = std::string_view;
#endif
void write(const sw::task_graph& g, const sw::schedule& s, const sw::timeline& line) {
  sw::write_chrome_trace([](given) {}, g, s, line);
  sw::write_graphviz([](given) {}, g, s);
  sw::write_html([](given) {}, g, s, line);
}
