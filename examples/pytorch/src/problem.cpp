#include "problem.hpp"

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/cost_table.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/placement/validate.hpp>
#include <shardweave/solve/auto_solver.hpp>

#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;
namespace sw = shardweave;

namespace {

/// A placement problem, stated piece by piece; infinite costs are forbidden.
class stated_problem {
 public:
  explicit stated_problem(std::string name) { d_.name = std::move(name); }

  void vertex(std::string name, std::vector<double> compute) {
    d_.vertices.push_back({.name = std::move(name), .compute = std::move(compute)});
  }
  std::uint32_t table(std::size_t rows, std::size_t columns, const std::vector<double>& entries) {
    if (entries.size() != rows * columns)
      sw::refuse(sw::error_category::input, "a table of " + std::to_string(rows) + " rows and " +
                                                std::to_string(columns) + " columns has " +
                                                std::to_string(entries.size()) + " entries");
    d_.tables.push_back(
        std::make_shared<const sw::cost_table<double>>(sw::cost_table<double>::from_entries(rows, columns, entries)));
    return static_cast<std::uint32_t>(d_.tables.size() - 1);
  }
  void edge(std::uint32_t from, std::uint32_t to, std::uint32_t slot, std::uint32_t communication,
            std::uint32_t transition) {
    d_.edges.push_back({from, to, slot, communication, transition});
  }
  void fix(std::uint32_t vertex, std::vector<sw::strategy> allowed, std::string why) {
    d_.constraints.fixed.push_back({vertex, std::move(allowed), std::move(why)});
  }
  void tie(std::vector<std::uint32_t> vertices, std::string why) {
    d_.constraints.ties.push_back({std::move(vertices), std::move(why)});
  }
  void pair(std::uint32_t a, std::uint32_t b, std::vector<std::pair<sw::strategy, sw::strategy>> allowed,
            std::string why) {
    d_.constraints.pairs.push_back({a, b, std::move(allowed), std::move(why)});
  }
  void budget(std::string name, std::optional<double> low, std::optional<double> high,
              std::vector<std::pair<std::uint32_t, std::vector<double>>> terms) {
    sw::budget b{.name = std::move(name)};
    if (low) b.low = *low;
    if (high) b.high = *high;
    for (auto& [vertex, usage] : terms) b.terms.push_back({.vertex = vertex, .usage = std::move(usage)});
    d_.constraints.budgets.push_back(std::move(b));
  }

  [[nodiscard]] nb::dict solve(double seconds) const {
    sw::solution<double> answer;
    {
      const nb::gil_scoped_release others_may_run;
      sw::validate(d_);
      try {
        answer = sw::auto_solver{}.solve(sw::compile(d_), {.seconds = seconds});
      } catch (const sw::error& e) {
        if (e.category() != sw::error_category::constraint) throw;
        answer.status = sw::solve_status::infeasible;
        answer.statistics.note = e.what();
      }
    }
    nb::dict told;
    told["assignment"] = answer.has_assignment() ? answer.choice : sw::assignment{};
    told["objective"] = answer.objective;
    told["lower_bound"] = answer.lower_bound;
    told["status"] = std::string(sw::name_of(answer.status));
    told["seconds"] = answer.statistics.seconds;
    told["note"] = answer.statistics.note;
    return told;
  }

  [[nodiscard]] nb::dict evaluate(const sw::assignment& choice) const {
    sw::validate(d_);
    const sw::evaluation<double> priced = sw::evaluate(d_, choice);
    nb::dict told;
    told["objective"] = priced.objective;
    told["compute"] = priced.parts.compute;
    told["communication"] = priced.parts.communication;
    told["transition"] = priced.parts.transition;
    told["violations"] = priced.violations;
    return told;
  }

 private:
  sw::placement_description<double> d_;
};

}  // namespace

void bind_problem(nb::module_& m) {
  nb::class_<stated_problem>(m, "PlacementProblem",
                             "Vertices with strategies and costs, edges with costs by the strategies of both ends, "
                             "constraints. Infinite costs are forbidden. A ValueError says what is wrong with it.")
      .def(nb::init<std::string>(), nb::arg("name"))
      .def("vertex", &stated_problem::vertex, nb::arg("name"), nb::arg("compute"),
           "A vertex, with a cost for each of its strategies; they are numbered from 0.")
      .def("table", &stated_problem::table, nb::arg("rows"), nb::arg("columns"), nb::arg("entries"),
           "The number of a new table of costs: a row per strategy of an edge's producer.")
      .def("edge", &stated_problem::edge, nb::arg("from_"), nb::arg("to"), nb::arg("slot"), nb::arg("communication"),
           nb::arg("transition"), "An edge between vertices: the argument `slot` of `to`, and two tables of costs.")
      .def("fix", &stated_problem::fix, nb::arg("vertex"), nb::arg("allowed"), nb::arg("why"),
           "A vertex takes one of these strategies.")
      .def("tie", &stated_problem::tie, nb::arg("vertices"), nb::arg("why"), "Vertices take the same strategy.")
      .def("pair", &stated_problem::pair, nb::arg("a"), nb::arg("b"), nb::arg("allowed"), nb::arg("why"),
           "Two vertices take one of these pairs of strategies.")
      .def("budget", &stated_problem::budget, nb::arg("name"), nb::arg("low").none(), nb::arg("high").none(),
           nb::arg("terms"), "The sum of what vertices use, each by its strategy, is within `low` and `high`.")
      .def("solve", &stated_problem::solve, nb::arg("seconds") = 60.0,
           "assignment (a strategy per vertex, empty if there is none), objective, lower_bound, status, seconds, note.")
      .def("evaluate", &stated_problem::evaluate, nb::arg("assignment"),
           "objective, compute, communication, transition, and violations: the constraints that an assignment breaks.");
}
