// What lowers a placement to tasks, and what lacks one thing of it each.
#include <shardweave/lowering/lowered_graph.hpp>
#include <shardweave/lowering/lowering_policy.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/tasks/task_graph.hpp>

#include <span>
#include <string_view>
#include <vector>

namespace sw = shardweave;

namespace lowering_policy_tests {
namespace {

struct costs {};
struct other_costs {};

struct own_lowering {
  static constexpr std::string_view name = "own";
  double setting = 1;
  sw::lowered_graph operator()(const costs&, std::span<const sw::strategy>) const;
};
struct named_by_letters : own_lowering {
  static constexpr const char* name = "letters";
};
struct of_any_model {
  static constexpr std::string_view name = "any";
  template <class M>
  sw::lowered_graph operator()(const M&, const std::vector<sw::strategy>&) const;
  template <class M>
  sw::lowered_graph operator()(const M&, std::span<const sw::strategy>) const;
};
static_assert(sw::lowering_policy<own_lowering, costs> && sw::lowering_policy<named_by_letters, costs>);
static_assert(sw::lowering_policy<of_any_model, costs> && sw::lowering_policy<of_any_model, other_costs>);
static_assert(!sw::lowering_policy<own_lowering, other_costs>);

struct nameless {
  sw::lowered_graph operator()(const costs&, std::span<const sw::strategy>) const;
};
struct named_by_a_number : own_lowering {
  static constexpr int name = 3;
};
struct changes_itself {
  static constexpr std::string_view name = "changing";
  sw::lowered_graph operator()(const costs&, std::span<const sw::strategy>);
};
struct changes_the_model {
  static constexpr std::string_view name = "changing";
  sw::lowered_graph operator()(costs&, std::span<const sw::strategy>) const;
};
struct changes_the_plan {
  static constexpr std::string_view name = "changing";
  sw::lowered_graph operator()(const costs&, std::span<sw::strategy>) const;
};
struct tasks_alone {
  static constexpr std::string_view name = "tasks";
  sw::task_graph operator()(const costs&, std::span<const sw::strategy>) const;
};
struct of_one_strategy {
  static constexpr std::string_view name = "one";
  sw::lowered_graph operator()(const costs&, sw::strategy) const;
};
struct unique : own_lowering {
  unique(const unique&) = delete;
};
static_assert(!sw::lowering_policy<nameless, costs> && !sw::lowering_policy<named_by_a_number, costs>);
static_assert(!sw::lowering_policy<changes_itself, costs> && !sw::lowering_policy<changes_the_model, costs>);
static_assert(!sw::lowering_policy<changes_the_plan, costs> && !sw::lowering_policy<tasks_alone, costs>);
static_assert(!sw::lowering_policy<of_one_strategy, costs> && !sw::lowering_policy<unique, costs>);
static_assert(!sw::lowering_policy<int, costs>);

}  // namespace
}  // namespace lowering_policy_tests
