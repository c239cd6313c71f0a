// expect: A sink of text must be called with a std::string_view
#include <shardweave/report/chrome_trace.hpp>
namespace sw = shardweave;
void write(const sw::task_graph& g, const sw::schedule& s, const sw::timeline& line) {
#ifdef SHARDWEAVE_REFUSED
  const auto sink = [](int) {};
#else
  const auto sink = [](std::string_view) {};
#endif
  sw::write_chrome_trace(sink, g, s, line);
}
