#include "small_problem.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/compressed_sparse_row_graph.hpp>
#include <boost/property_map/function_property_map.hpp>
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace describe_tests {
namespace {

using graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;
using vertex = sw::vertex_t<graph>;
using edge = sw::edge_t<graph>;

/// What was asked, by whom it was asked for.
struct calls {
  std::size_t vertex_cost = 0, edge_cost = 0, edge_parts = 0, class_parts = 0, producer_classes = 0, edge_key = 0;
};

/// Random costs of a random graph, in dense form.
struct drawn {
  graph g{0};
  std::vector<std::vector<double>> unary;

  drawn(std::uint64_t seed, std::size_t n, std::size_t edges, std::size_t strategies) : g(n) {
    sw::random_source random(seed);
    for (std::size_t v = 0; v < n; ++v) {
      unary.emplace_back();
      for (std::size_t s = 0; s < strategies; ++s) unary.back().push_back(static_cast<double>(random.below(100)));
    }
    for (std::size_t e = 0; e < edges; ++e) {
      const std::size_t to = 1 + random.below(n - 1);
      add_edge(random.below(to), to, g);
    }
  }
};

/// Every edge costs what its producer's and its consumer's class say; a table for every third edge number alike.
struct by_entries {
  using cost_type = double;
  const drawn* d;
  calls* asked;
  std::size_t classes = 3;

  [[nodiscard]] std::uint32_t class_of(sw::strategy s) const { return static_cast<std::uint32_t>(s % classes); }
  [[nodiscard]] static std::uint64_t kind(edge e) { return (e.m_source + 2 * e.m_target) % 4; }
  [[nodiscard]] static sw::edge_parts<double> parts(std::uint64_t kind, std::uint32_t a, std::uint32_t b) {
    if (kind == 0) return {};  // free
    const double x = static_cast<double>(kind * 100 + a * 10 + b);
    return {a == b ? 0.0 : x, kind == 2 ? 1000.0 : 0.0};
  }

  std::size_t strategy_count(vertex v) const { return d->unary[v].size(); }
  double vertex_cost(vertex v, sw::strategy s) const {
    ++asked->vertex_cost;
    return d->unary[v][s];
  }
  double edge_cost(edge e, sw::strategy a, sw::strategy b) const {
    ++asked->edge_cost;
    const auto p = parts(kind(e), class_of(a), class_of(b));
    return p.communication + p.transition;
  }
};

struct by_parts : by_entries {
  sw::edge_parts<double> edge_parts(edge e, sw::strategy a, sw::strategy b) const {
    ++asked->edge_parts;
    return parts(kind(e), class_of(a), class_of(b));
  }
};

struct by_classes : by_entries {
  // computed on the fly: what is returned dies at the end of the expression
  std::vector<std::uint32_t> producer_classes(edge e) const {
    ++asked->producer_classes;
    return listed(e.m_source);
  }
  std::vector<std::uint32_t> consumer_classes(edge e) const { return listed(e.m_target); }
  sw::edge_parts<double> class_parts(edge e, std::uint32_t a, std::uint32_t b) const {
    ++asked->class_parts;
    return parts(kind(e), a, b);
  }
  std::uint64_t edge_key(edge e) const {
    ++asked->edge_key;
    return kind(e);
  }
  [[nodiscard]] std::vector<std::uint32_t> listed(vertex v) const {
    std::vector<std::uint32_t> all;
    for (sw::strategy s = 0; s < d->unary[v].size(); ++s) all.push_back(class_of(s));
    return all;
  }
};
static_assert(sw::classified_cost_model<by_classes, graph> && !sw::decomposed_cost_model<by_classes, graph>);

template <class Model>
double price(const drawn& d, const Model& model, const sw::assignment& choice) {
  double sum = 0;
  for (std::size_t v = 0; v < choice.size(); ++v) sum += d.unary[v][choice[v]];
  for (auto [e, last] = edges(d.g); e != last; ++e) {
    const auto p =
        Model::parts(Model::kind(*e), model.class_of(choice[source(*e, d.g)]), model.class_of(choice[target(*e, d.g)]));
    sum += p.communication + p.transition;
  }
  return sum;
}

}  // namespace

TEST_SUITE("describe") {
  TEST_CASE_TEMPLATE("whatever a model can do, its assignments cost what it says", Model, by_entries, by_parts,
                     by_classes) {
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      CAPTURE(seed);
      const drawn d(seed, 2 + seed % 9, seed % 23, 1 + seed % 7);
      calls asked;
      Model model;
      model.d = &d;
      model.asked = &asked;
      model.classes = 1 + seed % 4;
      if (model.classes > d.unary[0].size()) model.classes = d.unary[0].size();
      const auto stated = sw::describe(d.g, model);
      const auto problem = sw::compile(stated);
      sw::random_source random(seed);
      for (int i = 0; i < 10; ++i) {
        sw::assignment choice;
        for (const auto& u : d.unary) choice.push_back(static_cast<sw::strategy>(random.below(u.size())));
        CHECK(sw::evaluate(stated, choice).objective == price(d, model, choice));
        CHECK(problem.compact().cost(*problem.labels_of(choice)) == doctest::Approx(price(d, model, choice)));
      }
    }
  }

  TEST_CASE("each vertex cost is asked for once, and each pair of strategies once per edge") {
    const drawn d(1, 20, 50, 6);
    calls asked;
    static_cast<void>(sw::describe(d.g, by_entries{&d, &asked}));
    CHECK(asked.vertex_cost == 20 * 6);
    CHECK(asked.edge_cost == 50 * 36);
  }

  TEST_CASE("a model with parts is asked for parts and for nothing else") {
    const drawn d(1, 20, 50, 6);
    calls asked;
    static_cast<void>(sw::describe(d.g, by_parts{{&d, &asked}}));
    CHECK(asked.edge_parts == 50 * 36);
    CHECK(asked.edge_cost == 0);
  }

  TEST_CASE("a model with classes is asked per pair of classes, once per key, and never per strategy") {
    const drawn d(1, 20, 200, 60);
    calls asked;
    const auto stated = sw::describe(d.g, by_classes{{&d, &asked}});
    CHECK(asked.edge_cost == 0);
    CHECK(asked.edge_key == 200);
    CHECK(asked.producer_classes == 4);
    CHECK(asked.class_parts == 4 * 3 * 3);
    // and the tables stay small: three classes each way, whatever the strategies
    REQUIRE_FALSE(stated.tables.empty());
    for (const auto& t : stated.tables) {
      CHECK(t->rows() == 60);
      CHECK(t->row_classes() <= 3);
      CHECK(t->column_classes() <= 3);
    }
    const auto problem = sw::compile(stated);
    CHECK(asked.edge_cost == 0);
    CHECK(asked.class_parts == 36);
    for (const auto& t : problem.compact().tables()) {
      CHECK(t->row_classes() <= 3);
      CHECK(t->column_classes() <= 3);
    }
  }

  TEST_CASE("all ways find the same tables, each once, and none for what is free") {
    const drawn d(7, 15, 80, 9);
    calls asked;
    const auto entries = sw::describe(d.g, by_parts{{&d, &asked}});
    const auto classes = sw::describe(d.g, by_classes{{&d, &asked}});
    // three kinds cost something; one of them has a transition, which is constant
    CHECK(entries.tables.size() == 4);
    CHECK(classes.tables.size() == 4);
    REQUIRE(entries.edges.size() == classes.edges.size());
    const auto same = [&](std::uint32_t a, std::uint32_t b) {
      return a == sw::no_table ? b == sw::no_table : b != sw::no_table && *entries.tables[a] == *classes.tables[b];
    };
    std::size_t free = 0;
    for (std::size_t e = 0; e < entries.edges.size(); ++e) {
      CHECK(same(entries.edges[e].communication, classes.edges[e].communication));
      CHECK(same(entries.edges[e].transition, classes.edges[e].transition));
      free += entries.edges[e].communication == sw::no_table;
    }
    CHECK(free > 0);
  }

  TEST_CASE("slots number the inputs of a consumer in the order of the edges") {
    graph g(3);
    add_edge(0, 2, g);
    add_edge(1, 2, g);
    add_edge(0, 1, g);
    add_edge(0, 2, g);
    const drawn d(1, 3, 0, 2);
    calls asked;
    const auto stated = sw::describe(g, by_entries{&d, &asked});
    std::map<std::uint32_t, std::vector<std::uint32_t>> slots;
    for (const auto& e : stated.edges) slots[e.to].push_back(e.slot);
    CHECK(slots[1] == std::vector<std::uint32_t>{0});
    CHECK(slots[2] == std::vector<std::uint32_t>{0, 1, 2});
  }

  TEST_CASE("a stop asked for by the model itself ends the pricing before the next row") {
    struct stopping : by_entries {
      std::stop_source* source = nullptr;
      std::size_t stop_at = 0;
      double edge_cost(edge e, sw::strategy a, sw::strategy b) const {
        if (asked->edge_cost + 1 == stop_at) source->request_stop();
        return by_entries::edge_cost(e, a, b);
      }
    };
    const drawn d(3, 10, 40, 30);
    for (const std::size_t at : {1U, 17U, 31U, 900U, 901U, 20'000U}) {
      CAPTURE(at);
      calls asked;
      std::stop_source source;
      stopping model{{&d, &asked}, &source, at};
      small::check_refused([&] { return sw::describe(d.g, model, {}, {.stop = source.get_token()}); },
                           sw::error_category::stopped, "the problem was not priced before the stop");
      CHECK(asked.edge_cost >= at);
      CHECK(asked.edge_cost < at + 30);  // at most the rest of the row
    }
    calls asked;
    small::check_refused(
        [&] {
          return sw::describe(d.g, by_entries{&d, &asked}, {}, {.seconds = 0});
        },
        sw::error_category::stopped, "the problem was not priced before the stop");
    CHECK(asked.vertex_cost == 0);
  }

  TEST_CASE("progress rises to 1, under its stage's name") {
    const drawn d(3, 100, 250, 2);
    calls asked;
    std::vector<double> done;
    sw::solve_control control;
    control.progress = [&](const sw::progress_report& r) {
      CHECK(r.stage == "describe");
      done.push_back(r.done);
    };
    static_cast<void>(sw::describe(d.g, by_entries{&d, &asked}, {}, control));
    REQUIRE(done.size() >= 50);
    CHECK(done.size() <= 101);
    CHECK(std::is_sorted(done.begin(), done.end()));
    CHECK(done.back() == 1);
  }

  TEST_CASE("names come from a callable or a property map, and reach the messages") {
    const drawn d(1, 2, 0, 2);
    calls asked;
    const auto called =
        sw::describe(d.g, by_entries{&d, &asked}, {}, {}, [](vertex v) { return "layer_" + std::to_string(v); });
    CHECK(called.name_of(1) == "vertex 1 (layer_1)");
    const auto map = boost::make_function_property_map<vertex>([](vertex v) { return std::string(v + 1, 'x'); });
    CHECK(sw::describe(d.g, by_entries{&d, &asked}, {}, {}, map).name_of(1) == "vertex 1 (xx)");
    CHECK(sw::describe(d.g, by_entries{&d, &asked}).name_of(1) == "vertex 1");
  }

  TEST_CASE("words for strategies are kept and used") {
    struct with_words : by_entries {
      std::string strategy_name(vertex, sw::strategy s) const {
        return s == 0 ? "R" : "S(" + std::to_string(s - 1) + ")";
      }
    };
    const drawn d(1, 1, 0, 3);
    calls asked;
    const auto stated = sw::describe(d.g, with_words{{&d, &asked}}, {.fixed = {{0, {0}, "whole"}}});
    CHECK(stated.vertices[0].labels == std::vector<std::string>{"R", "S(0)", "S(1)"});
    CHECK(sw::evaluate(stated, sw::assignment{2}).violations ==
          std::vector<std::string>{"constraint 'whole': vertex 0 takes strategy S(1)"});
  }

  TEST_CASE("lists of words are shared") {
    struct with_lists : by_entries {
      sw::label_list words{"R", "S(0)", "S(1)"};
      const sw::label_list& strategy_labels(vertex) const { return words; }
    };
    static_assert(sw::labelled_cost_model<with_lists, graph>);
    const drawn d(1, 2, 0, 3);
    calls asked;
    const with_lists model{{&d, &asked}};
    const auto stated = sw::describe(d.g, model);
    CHECK(stated.name_of_strategy(1, 2) == "S(1)");
    CHECK(stated.vertices[0].labels.begin() == model.words.begin());
    CHECK(stated.vertices[1].labels.begin() == model.words.begin());
    CHECK(sw::label_list(std::vector<std::string>{}) == sw::label_list());
    CHECK(sw::label_list{"R"} != model.words);
  }

  TEST_CASE("memory becomes a budget over live intervals, beside those that were stated") {
    struct with_memory : by_entries {
      double memory_usage(vertex v, sw::strategy s) const { return v == 1 ? 0 : static_cast<double>(10 * v + s); }
      sw::live_interval live(vertex v) const {
        return {static_cast<std::int64_t>(v), static_cast<std::int64_t>(v) + 2};
      }
      double memory_limit() const { return 33; }
    };
    const drawn d(1, 4, 0, 2);
    calls asked;
    sw::constraint_set constraints;
    constraints.budgets.push_back({"mine", 0, 7, {{0, {1, 2}, {}}}});
    const auto stated = sw::describe(d.g, with_memory{{&d, &asked}}, constraints);
    REQUIRE(stated.constraints.budgets.size() == 2);
    CHECK(stated.constraints.budgets[0].name == "mine");
    const sw::budget& memory = stated.constraints.budgets[1];
    CHECK(memory.name == "memory");
    CHECK(memory.high == 33);
    CHECK(memory.low == -std::numeric_limits<double>::infinity());
    REQUIRE(memory.terms.size() == 3);  // vertex 1 uses nothing
    CHECK(memory.terms[1].vertex == 2);
    CHECK(memory.terms[1].usage == std::vector<double>{20, 21});
    CHECK(memory.terms[1].live->first == 2);
    CHECK(memory.terms[1].live->end == 4);
    CHECK(stated.vertices[3].memory == std::vector<double>{30, 31});
    // 2 and 3 live together at time 3
    CHECK(sw::evaluate(stated, sw::assignment{0, 0, 0, 0}).violations ==
          std::vector<std::string>{"budget 'memory' uses 50 at time 3, more than its limit 33"});
  }

  TEST_CASE("communication that may hide is listed with its direction") {
    struct hides_some : by_parts {
      sw::hiding hides(edge e) const {
        return e.m_target == 1 ? sw::hiding::none : e.m_target == 2 ? sw::hiding::later : sw::hiding::earlier;
      }
    };
    graph g(4);
    for (const vertex v : {1U, 2U, 3U}) add_edge(0, v, g);
    const drawn d(1, 4, 0, 2);
    calls asked;
    const auto stated = sw::describe(g, hides_some{{{&d, &asked}}});
    REQUIRE(stated.overlap.size() == 2);
    CHECK(stated.overlap[0].edge == 1);
    CHECK(stated.overlap[0].direction == sw::hiding::later);
    CHECK(stated.overlap[1].edge == 2);
    CHECK(stated.overlap[1].direction == sw::hiding::earlier);
  }

  TEST_CASE("classes and keys that contradict the strategies are refused, and the message names the edge") {
    struct wrong : by_classes {
      std::vector<std::uint32_t> first, second;
      std::uint64_t key = 0;
      std::vector<std::uint32_t> producer_classes(edge) const { return first; }
      std::vector<std::uint32_t> consumer_classes(edge) const { return second; }
      std::uint64_t edge_key(edge) const { return key; }
    };
    graph g(2);
    add_edge(0, 1, g);
    drawn d(1, 2, 0, 3);
    calls asked;
    const auto refused = [&](std::vector<std::uint32_t> a, std::vector<std::uint32_t> b, const std::string& text) {
      small::check_refused(
          [&] {
            return sw::describe(g, wrong{{{&d, &asked}}, std::move(a), std::move(b)}, {}, {},
                                [](vertex v) { return v == 0 ? "mm" : "add"; });
          },
          sw::error_category::input, text);
    };
    refused({0, 1}, {0, 0, 0},
            "edge 0 (vertex 0 (mm) -> vertex 1 (add)) lists 2 classes for the 3 strategies of its producer");
    refused({0, 1, 1}, {0, 0, 0, 0},
            "edge 0 (vertex 0 (mm) -> vertex 1 (add)) lists 4 classes for the 3 strategies of its consumer");
    refused({0, 1, 3}, {0, 0, 0},
            "edge 0 (vertex 0 (mm) -> vertex 1 (add)) numbers a class 3, but classes are numbered 0, 1, ... without "
            "more classes than strategies");
    refused({0, 1, 2}, {0, 4294967295U, 0},
            "edge 0 (vertex 0 (mm) -> vertex 1 (add)) numbers a class 4294967295, but classes are numbered 0, 1, ... "
            "without more classes than strategies");

    // two edges of one key whose ends have other numbers of strategies
    graph three(3);
    add_edge(0, 1, three);
    add_edge(1, 2, three);
    drawn other(1, 3, 0, 3);
    other.unary[2].push_back(0);
    small::check_refused(
        [&] {
          return sw::describe(three, wrong{{{&other, &asked}}, {0, 1, 2}, {0, 0, 0}});
        },
        sw::error_category::input,
        "edge 1 (vertex 1 -> vertex 2) has the edge_key of an edge with 3 and 3 strategies at its ends, but has 3 and "
        "4");
  }

  TEST_CASE("the number of threads changes nothing in a description, to the last bit") {
    struct many_keys : by_classes {  // counts nothing, since it is asked by several threads
      std::vector<std::uint32_t> producer_classes(edge e) const { return listed(e.m_source); }
      sw::edge_parts<double> class_parts(edge e, std::uint32_t a, std::uint32_t b) const {
        const std::uint64_t price = std::min<std::uint64_t>(edge_key(e), 29);  // one for the last two keys
        if (price % 5 == 0) return {};
        return {a == b ? 0 : std::sqrt(static_cast<double>(price + 3 * a)) / (1 + b),
                price % 3 == 0 ? 0.1 * (1 + a) : 0};
      }
      std::uint64_t edge_key(edge e) const { return (7 * e.m_source + e.m_target) % 31; }
    };
    const drawn d(11, 30, 200, 20);
    calls asked;
    const many_keys model{{{&d, &asked, 7}}};
    const auto one = sw::describe(d.g, model);
    CHECK(one.tables.size() == 24 + 1);  // 24 prices of 30 cost something, eight of them one transition
    for (const unsigned threads : {2U, 3U, 40U}) {
      CAPTURE(threads);
      const auto more = sw::describe(d.g, model, {}, {.threads = threads});
      REQUIRE(more.tables.size() == one.tables.size());
      for (std::size_t t = 0; t < one.tables.size(); ++t) {
        const auto &a = *one.tables[t], &b = *more.tables[t];
        REQUIRE(a == b);
        bool same = true;
        for (std::size_t i = 0; i < a.row_classes() * a.stride(); ++i)
          same = same &&
                 std::bit_cast<std::uint64_t>(a.class_row(0)[i]) == std::bit_cast<std::uint64_t>(b.class_row(0)[i]);
        CHECK(same);
      }
      REQUIRE(more.edges.size() == one.edges.size());
      for (std::size_t e = 0; e < one.edges.size(); ++e) {
        const sw::described_edge &a = one.edges[e], &b = more.edges[e];
        CHECK(std::tie(a.from, a.to, a.slot, a.communication, a.transition) ==
              std::tie(b.from, b.to, b.slot, b.communication, b.transition));
      }
    }
  }

  TEST_CASE("tables of equal costs between their classes keep them once") {
    struct two_sizes : by_classes {  // a key for each pair of sizes, one price
      std::uint64_t edge_key(edge e) const { return d->unary[e.m_source].size() * 10 + d->unary[e.m_target].size(); }
      sw::edge_parts<double> class_parts(edge, std::uint32_t a, std::uint32_t b) const { return {1.0 + a + 2 * b, 0}; }
    };
    graph g(3);
    add_edge(0, 1, g);
    add_edge(1, 2, g);
    drawn d(1, 3, 0, 4);
    d.unary[1].resize(5);
    calls asked;
    const auto stated = sw::describe(g, two_sizes{{{&d, &asked}}});
    REQUIRE(stated.tables.size() == 2);
    CHECK_FALSE(*stated.tables[0] == *stated.tables[1]);
    CHECK(stated.tables[0]->class_row(0) == stated.tables[1]->class_row(0));
  }

  TEST_CASE("large tables are packed as stated, shared with the model that keeps them, and unpacked as compiled") {
    struct keeps_tables : by_classes {
      const sw::cost_table<double>* kept = nullptr;
      const sw::cost_table<double>& class_costs(edge) const { return *kept; }
    };
    graph g(3);
    add_edge(0, 1, g);
    add_edge(1, 2, g);
    drawn d(1, 3, 0, 200);
    calls asked;
    const by_classes model{{&d, &asked, 200}};
    REQUIRE(by_classes::kind(*edges(g).first) == 2);  // has transitions too
    const auto kept = sw::cost_table<double>::from_distinct_classes({}, {}, 200, 200, [](std::size_t a, std::size_t b) {
      return by_classes::parts(2, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)).communication;
    });
    const auto packed = kept.packed();
    const auto stated = sw::describe(g, model), shared = sw::describe(g, keeps_tables{model, &packed});
    REQUIRE(stated.edges.front().communication == 0);
    CHECK(stated.tables[0]->is_packed());
    CHECK(*stated.tables[0] == *shared.tables[0]);
    CHECK(shared.tables[0]->class_row(0) == packed.class_row(0));
    CHECK(stated.tables[0]->class_row(0) != packed.class_row(0));
    const auto problem = sw::compile(stated);
    for (const auto& t : problem.compact().tables()) CHECK_FALSE(t->is_packed());
    sw::random_source random(2);
    for (int i = 0; i < 20; ++i) {
      sw::assignment choice(3);
      for (auto& c : choice) c = static_cast<sw::strategy>(random.below(200));
      CHECK(sw::evaluate(stated, choice).objective == sw::evaluate(shared, choice).objective);
      CHECK(problem.objective(*problem.labels_of(choice)) == doctest::Approx(sw::evaluate(stated, choice).objective));
    }
  }

  TEST_CASE("a stop that one of several threads sees ends the pricing") {
    struct stopping : by_classes {
      std::stop_source* source = nullptr;
      std::vector<std::uint32_t> producer_classes(edge e) const { return listed(e.m_source); }
      std::uint64_t edge_key(edge e) const { return e.m_source * 100 + e.m_target; }
      sw::edge_parts<double> class_parts(edge e, std::uint32_t a, std::uint32_t b) const {
        if (e.m_source == 7) source->request_stop();
        if (e.m_source >= 10)
          throw std::logic_error("asked after the stop");  // three at a time, and none after the stop
        return parts(1, a, b);
      }
    };
    graph g(12);
    for (vertex v = 1; v < 12; ++v) add_edge(v - 1, v, g);
    const drawn d(1, 12, 0, 4);
    calls asked;
    std::stop_source source;
    small::check_refused(
        [&] {
          return sw::describe(g, stopping{{{&d, &asked}}, &source}, {}, {.threads = 3, .stop = source.get_token()});
        },
        sw::error_category::stopped, "the problem was not priced before the stop");
  }

  TEST_CASE("what is wrong with an edge is told by several threads as by one") {
    struct wrong_at : by_classes {
      edge wrong;
      std::vector<std::uint32_t> producer_classes(edge e) const {
        auto of = listed(e.m_source);
        if (e == wrong) of.pop_back();
        return of;
      }
      std::uint64_t edge_key(edge e) const { return e.m_source * 100 + e.m_target; }
      sw::edge_parts<double> class_parts(edge, std::uint32_t a, std::uint32_t b) const { return parts(1, a, b); }
    };
    graph g(12);
    for (vertex v = 1; v < 12; ++v) add_edge(v - 1, v, g);
    const drawn d(1, 12, 0, 4);
    calls asked;
    for (const unsigned threads : {1U, 3U}) {
      CAPTURE(threads);
      small::check_refused(
          [&] {
            return sw::describe(g, wrong_at{{{&d, &asked}}, *std::next(edges(g).first, 7)}, {}, {.threads = threads});
          },
          sw::error_category::input,
          "edge 7 (vertex 7 -> vertex 8) lists 3 classes for the 4 strategies of its producer");
    }
  }

  TEST_CASE("a vertex without strategies is described, and refused by name when the problem is built") {
    drawn d(1, 3, 6, 2);
    d.unary[1].clear();
    calls asked;
    const auto stated = sw::describe(d.g, by_entries{&d, &asked});
    small::check_refused([&] { return sw::compile(stated); }, sw::error_category::input, "vertex 1 has no strategies");
  }

  TEST_CASE("a compressed graph of Boost is described like a list of edges") {
    using csr = boost::compressed_sparse_row_graph<boost::directedS>;
    struct model {
      using cost_type = double;
      std::size_t strategy_count(std::size_t) const { return 2; }
      double vertex_cost(std::size_t v, sw::strategy s) const { return static_cast<double>(v * 10 + s); }
      double edge_cost(sw::edge_t<csr>, sw::strategy a, sw::strategy b) const { return a == b ? 0 : 5; }
    };
    const std::vector<std::pair<std::size_t, std::size_t>> pairs{{0, 1}, {0, 2}, {1, 2}};
    const csr g(boost::edges_are_sorted, pairs.begin(), pairs.end(), 3);
    const auto stated = sw::describe(g, model{});
    CHECK(stated.edges.size() == 3);
    CHECK(stated.tables.size() == 1);
    CHECK(sw::evaluate(stated, sw::assignment{0, 1, 0}).objective == 0 + 11 + 20 + 10);
  }
}

}  // namespace describe_tests
