// expect: An engine must have a member name, connect.groups.
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/virtual_engine.hpp>
namespace sw = shardweave;
struct my_engine {
  static constexpr std::string_view name = "mine";
  void connect(std::span<const sw::process_group>) {}
  std::size_t run(const sw::compute_call&) { return 0; }
  std::size_t start(const sw::collective_call&) { return 0; }
  std::size_t wait(std::size_t) { return 0; }
  void finish() {}
#ifndef SHARDWEAVE_REFUSED
  sw::nanoseconds now() const { return {}; }
#endif
  sw::time_span span(std::size_t) const { return {}; }
};
auto run(const sw::task_graph& g, const sw::schedule& s, my_engine& engine) { return sw::replay(g, s, engine); }
