#pragma once

#include <shardweave/core/error.hpp>
#include <shardweave/core/interning.hpp>
#include <shardweave/core/linkage.hpp>
#include <shardweave/spmd/block_ring.hpp>
#include <shardweave/spmd/detail/operation_content.hpp>
#include <shardweave/spmd/sharding.hpp>
#include <shardweave/spmd/strategies.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// How strategies are enumerated.

namespace shardweave::inline v0 {
namespace detail {

/// Makes the lists. Operations that agree in all that a list depends on (operator, attributes, tensors, and
/// for operators that follow, the choices of the first argument) share one.
class strategy_enumerator {
 public:
  strategy_enumerator(const computation& graph, const device_mesh& mesh, const compute_profile& compute,
                      const rule_table& rules)
      : graph_(graph), mesh_(mesh), compute_(compute), rules_(rules) {}

  [[nodiscard]] strategy_space run() && {
    check_names();
    check_pairs(graph_.gradient_of, "gradient_of");
    check_pairs(graph_.tangent_of, "tangent_of");
    for (const std::uint32_t v : graph_.results) {
      check_number(v, "results");
      if (graph_.operations[v].outputs.empty())
        refuse(error_category::input,
               "results names operation '" + graph_.operations[v].name + "', which has none, expected one that has");
    }
    space_.list_of.reserve(graph_.operations.size());
    for (std::uint32_t v = 0; v < graph_.operations.size(); ++v) {
      const operation& op = graph_.operations[v];
      for (const std::uint32_t input : op.inputs)
        if (input >= v)
          refuse(error_category::input, "operation '" + op.name + "' uses operation " + std::to_string(input) +
                                            ", expected one before its own number " + std::to_string(v));
      check_tensors(op);
      const auto [at, fresh] = numbers_.try_emplace(key_of(op), static_cast<std::uint32_t>(space_.lists.size()));
      if (fresh) space_.lists.push_back(make_list(op));
      space_.list_of.push_back(at->second);
    }
    return std::move(space_);
  }

 private:
  /// Constraints, wishes and answers find operations by their names.
  void check_names() const {
    std::unordered_map<std::string_view, std::uint32_t> number_of;
    number_of.reserve(graph_.operations.size());
    for (std::uint32_t v = 0; v < graph_.operations.size(); ++v) {
      const std::string& name = graph_.operations[v].name;
      if (name.empty()) continue;
      const auto [at, fresh] = number_of.try_emplace(name, v);
      if (!fresh)
        refuse(error_category::input, "operations " + std::to_string(at->second) + " and " + std::to_string(v) +
                                          " are both called '" + name + "', expected names that are unique");
    }
  }
  void check_number(std::uint32_t v, const char* list) const {
    if (v >= graph_.operations.size())
      refuse(error_category::input, std::string(list) + " names operation " + std::to_string(v) + ", expected one of " +
                                        std::to_string(graph_.operations.size()));
  }
  void check_pairs(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& pairs, const char* list) const {
    for (const auto& [a, b] : pairs) {
      check_number(a, list);
      check_number(b, list);
    }
  }
  /// Shapes that have a size, and an element that is there.
  void check_tensors(const operation& op) const {
    for (std::size_t r = 0; r < op.outputs.size(); ++r) {
      std::int64_t size = element_size(op.outputs[r].type);
      for (const std::int64_t extent : op.outputs[r].shape) {
        if (extent < 0)
          refuse(error_category::input, "result " + std::to_string(r) + " of operation '" + op.name + "' has extent " +
                                            std::to_string(extent) + ", expected 0 or more");
        if (extent > 0 && size > std::numeric_limits<std::int64_t>::max() / extent)
          refuse(error_category::input, "result " + std::to_string(r) + " of operation '" + op.name +
                                            "' has more bytes than 64 bits can count");
        size *= extent;
      }
    }
    if (op.op != "getitem" || op.inputs.empty()) return;
    const operation& tuple = graph_.operations[op.inputs.front()];
    if (op.with.index < 0 || static_cast<std::size_t>(op.with.index) >= tuple.outputs.size())
      refuse(error_category::input, "operation '" + op.name + "' takes element " + std::to_string(op.with.index) +
                                        " of '" + tuple.name + "', which has " + std::to_string(tuple.outputs.size()));
  }

  /// Everything that a list depends on, as text.
  [[nodiscard]] std::string key_of(const operation& op) const {
    std::string key = operation_content(graph_, op);
    if (!op.outputs.empty() && !op.inputs.empty() && rules_.of(op).follows()) {
      const std::uint32_t followed = op.inputs[0];
      key += '|' + std::to_string(space_.list_of[followed]) + '|' +
             std::to_string(element_taken(op, graph_.operations[followed]));
    }
    return key;
  }

  [[nodiscard]] std::unique_ptr<const strategy_list> make_list(const operation& op) {
    list_ = std::make_unique<strategy_list>();
    if (op.outputs.empty()) {  // what the graph returns: placed by the results themselves
      list_->strategies.push_back({{}, std::vector<sharding>(op.inputs.size())});
      list_->compute_us.push_back(0);
    } else {
      whole_.clear();
      for (std::size_t a = 0; a < op.inputs.size(); ++a) whole_.push_back(argument_of(graph_, op, a));
      const rule_table::entry& entry = rules_.of(op);
      if (const auto* rule = std::get_if<rule_table::dim_function>(&entry.rule)) {
        combine(op, entry, *rule);
      } else if (const auto* follow = std::get_if<rule_table::follow_function>(&entry.rule)) {
        for (const sharding& in : offered(op)) follow_one(op, entry, *follow, in);
        if (list_->strategies.empty()) follow_one(op, entry, *follow, sharding(mesh_.rank()));
      } else {
        const operation_view view{op, whole_, whole_, op.outputs};
        for (const mesh_strategy& found : std::get<rule_table::mesh_function>(entry.rule)(view, mesh_))
          add(op, entry, found);
      }
      if (list_->strategies.empty())
        refuse(error_category::input,
               "operation '" + op.name + "' (" + op.op + ") has no strategy on mesh " + mesh_.to_string());
    }
    classify(op);
    seen_.clear();
    return std::move(list_);
  }

  [[nodiscard]] const std::vector<sharding>& offered(const operation& op) const {
    if (op.inputs.empty())
      refuse(error_category::input, "operation '" + op.name + "' (" + op.op + ") has no argument to follow");
    const std::uint32_t producer = op.inputs[0];
    return space_.lists[space_.list_of[producer]]->outputs[element_taken(op, graph_.operations[producer])].distinct;
  }

  /// Tensors of an operation as cut by the mesh dimensions so far.
  struct pieces {
    std::vector<tensor> inputs;
    std::vector<tensor> outputs;
  };
  [[noreturn]] static void refuse_dim(const operation& op, const char* what, std::size_t t, const dim_placement& where,
                                      std::size_t rank) {
    refuse(error_category::input, "the rule of operation '" + op.name + "' (" + op.op + ") cuts dimension " +
                                      std::to_string(where.dim()) + " of " + what + " " + std::to_string(t) +
                                      ", which has " + std::to_string(rank) + " dimensions");
  }
  /// Cuts along one more mesh dimension; false if a device would be left without an element.
  [[nodiscard]] bool cut(std::vector<tensor>& tensors, std::span<const dim_placement> placements, std::int64_t extent,
                         const operation& op, const char* what) const {
    if (placements.size() != tensors.size())
      refuse(error_category::input, "the rule of operation '" + op.name + "' (" + op.op + ") places " +
                                        std::to_string(placements.size()) + " tensors, expected " +
                                        std::to_string(tensors.size()));
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (!placements[t].is_sharded()) continue;
      if (placements[t].dim() >= tensors[t].rank()) refuse_dim(op, what, t, placements[t], tensors[t].rank());
      std::int64_t& size = tensors[t].shape[placements[t].dim()];
      if (size < extent) return false;
      size = (size + extent - 1) / extent;
    }
    return true;
  }
  [[nodiscard]] bool cut(pieces& of, const dim_strategy& way, std::size_t d, const operation& op) const {
    return cut(of.inputs, way.inputs, mesh_.extent(d), op, "argument") &&
           cut(of.outputs, way.outputs, mesh_.extent(d), op, "result");
  }
  static void place(mesh_strategy& strategy, const dim_strategy& way, std::size_t d) {
    for (std::size_t t = 0; t < way.inputs.size(); ++t) strategy.inputs[t].set(d, way.inputs[t]);
    for (std::size_t t = 0; t < way.outputs.size(); ++t) strategy.outputs[t].set(d, way.outputs[t]);
  }
  [[nodiscard]] mesh_strategy replicated(const operation& op) const {
    return {std::vector<sharding>(op.outputs.size(), sharding(mesh_.rank())),
            std::vector<sharding>(op.inputs.size(), sharding(mesh_.rank()))};
  }

  /// All combinations of ways along the mesh dimensions, the first dimension varying slowest.
  void combine(const operation& op, const rule_table::entry& entry, const rule_table::dim_function& rule) {
    combine(op, entry, rule, 0, {whole_, op.outputs}, replicated(op));
  }
  void combine(const operation& op, const rule_table::entry& entry, const rule_table::dim_function& rule, std::size_t d,
               const pieces& now, const mesh_strategy& so_far) {
    if (d == mesh_.rank()) return add(op, entry, so_far, now);
    for (const dim_strategy& way : rule(operation_view{op, whole_, now.inputs, now.outputs}, mesh_.extent(d))) {
      pieces next = now;
      if (!cut(next, way, d, op)) continue;
      mesh_strategy extended = so_far;
      place(extended, way, d);
      combine(op, entry, rule, d + 1, next, extended);
    }
  }

  void follow_one(const operation& op, const rule_table::entry& entry, const rule_table::follow_function& rule,
                  const sharding& in) {
    pieces now{whole_, op.outputs};
    mesh_strategy strategy = replicated(op);
    for (std::size_t d = 0; d < mesh_.rank(); ++d) {
      const auto way = rule(operation_view{op, whole_, now.inputs, now.outputs}, in[d], mesh_.extent(d));
      if (!way || !cut(now, *way, d, op)) return;
      place(strategy, *way, d);
    }
    add(op, entry, strategy, now);
  }

  void add(const operation& op, const rule_table::entry& entry, const mesh_strategy& strategy) {
    pieces local{whole_, op.outputs};
    if (strategy.inputs.size() != local.inputs.size() || strategy.outputs.size() != local.outputs.size())
      refuse(error_category::input, "the rule of operation '" + op.name + "' (" + op.op + ") places " +
                                        std::to_string(strategy.inputs.size()) + " arguments and " +
                                        std::to_string(strategy.outputs.size()) + " results, expected " +
                                        std::to_string(local.inputs.size()) + " and " +
                                        std::to_string(local.outputs.size()));
    const auto cut_whole = [&](std::vector<tensor>& tensors, const std::vector<sharding>& where, const char* what) {
      for (std::size_t t = 0; t < tensors.size(); ++t) {
        if (where[t].is_none()) continue;
        if (where[t].size() != mesh_.rank())
          refuse(error_category::input, "the rule of operation '" + op.name + "' (" + op.op + ") places " + what + " " +
                                            std::to_string(t) + " " + where[t].to_string() + ", expected a placement " +
                                            "for each dimension of mesh " + mesh_.to_string());
        for (std::size_t d = 0; d < mesh_.rank(); ++d)
          if (where[t][d].is_sharded() && where[t][d].dim() >= tensors[t].rank())
            refuse_dim(op, what, t, where[t][d], tensors[t].rank());
        if (!is_valid_sharding(tensors[t].shape, where[t], mesh_)) return false;
        tensors[t].shape = local_shape(tensors[t].shape, where[t], mesh_);
      }
      return true;
    };
    if (cut_whole(local.inputs, strategy.inputs, "argument") && cut_whole(local.outputs, strategy.outputs, "result"))
      add(op, entry, strategy, local);
  }

  /// Keeps a strategy that is new and whose partial results can be reduced.
  void add(const operation& op, const rule_table::entry& entry, const mesh_strategy& strategy, const pieces& local) {
    std::vector<std::uint64_t> key;
    const auto is_valid = [&](const std::vector<sharding>& where, std::span<const tensor> tensors) {
      for (std::size_t t = 0; t < where.size(); ++t) {
        if (!where[t].is_none() && !is_valid_sharding(tensors[t].shape, where[t], mesh_)) return false;
        key.push_back(where[t].key());
      }
      return true;
    };
    if (!is_valid(strategy.outputs, op.outputs) || !is_valid(strategy.inputs, whole_)) return;
    if (!seen_.insert(std::move(key)).second) return;
    list_->strategies.push_back(strategy);
    double time = compute_time(op, entry.cost, local);
    if (entry.cost.ring) {
      const operation_view view{op, whole_, local.inputs, local.outputs};
      if (const auto ring = ring_of(view, strategy, *entry.cost.ring, time, mesh_, compute_)) {
        list_->rings.resize(list_->strategies.size());
        list_->rings.back() = ring;
        time = ring->blocks_us() + ring->sums_us();
      }
    }
    list_->compute_us.push_back(time);
  }

  [[nodiscard]] double compute_time(const operation& op, const operator_cost& cost, const pieces& local) const {
    if (cost.is_view) return 0;
    const device_work work = work_of_operation(cost, operation_view{op, whole_, local.inputs, local.outputs});
    if (!(work.flops >= 0) || std::isinf(work.flops))
      refuse(error_category::input, "the rule of operation '" + op.name + "' (" + op.op + ") counts " +
                                        std::to_string(work.flops) +
                                        " floating-point operations, expected a number that is not negative");
    return compute_.compute_time(work, cost.kernel);
  }

  void classify(const operation& op) {
    const auto classes_of = [&](auto&& sharding_of) {
      sharding_classes classes;
      interner<sharding> numbers;
      for (const mesh_strategy& s : list_->strategies) {
        const std::uint32_t number = numbers(sharding_of(s));
        if (number == classes.distinct.size()) classes.distinct.push_back(sharding_of(s));
        classes.of.push_back(number);
      }
      return classes;
    };
    for (std::size_t k = 0; k < op.outputs.size(); ++k)
      list_->outputs.push_back(classes_of([k](const mesh_strategy& s) { return s.outputs[k]; }));
    for (std::size_t a = 0; a < op.inputs.size(); ++a)
      list_->inputs.push_back(classes_of([a](const mesh_strategy& s) { return s.inputs[a]; }));
  }

  const computation& graph_;
  const device_mesh& mesh_;
  const compute_profile& compute_;
  const rule_table& rules_;
  strategy_space space_;
  std::unordered_map<std::string, std::uint32_t> numbers_;
  std::vector<tensor> whole_;  // arguments of the operation at hand
  std::unique_ptr<strategy_list> list_;
  std::set<std::vector<std::uint64_t>> seen_;
};

}  // namespace detail

SHARDWEAVE_INLINE strategy_space enumerate_strategies(const computation& graph, const device_mesh& mesh,
                                                      const compute_profile& compute, const rule_table& rules) {
  return detail::strategy_enumerator(graph, mesh, compute, rules).run();
}

}  // namespace shardweave::inline v0
