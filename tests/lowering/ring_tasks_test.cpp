#include <shardweave/core/random.hpp>
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/roofline.hpp>
#include <shardweave/lowering/lower.hpp>
#include <shardweave/lowering/lowered_work.hpp>
#include <shardweave/lowering/pipelined_collectives.hpp>
#include <shardweave/lowering/ring_tasks.hpp>
#include <shardweave/memory/recomputation_choices.hpp>
#include <shardweave/models/alias_pass.hpp>
#include <shardweave/models/graph_builder.hpp>
#include <shardweave/schedule/in_order.hpp>
#include <shardweave/schedule/search.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/standard_rules.hpp>
#include <shardweave/step/detail/placements_by_bound.hpp>
#include <shardweave/step/step_work.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;
using sw::collective;
using sw::task_index;
using sw::task_kind;

namespace ring_tasks_tests {
namespace {

using numbers = std::vector<double>;

/// Attention with its backward part, keys and values of `key_heads` heads.
/// \param is_returned  whether its result is one of the graph's, or only what is made of it
sw::computation attention(std::int64_t positions, std::int64_t width, std::int64_t heads = 1,
                          std::int64_t key_heads = 1, bool is_returned = true) {
  sw::graph_builder b("attention");
  const auto q = b.input("q", {{1, heads, positions, width}, sw::dtype::bf16});
  const auto k = b.input("k", {{1, key_heads, positions, width}, sw::dtype::bf16});
  const auto v = b.input("v", {{1, key_heads, positions, width}, sw::dtype::bf16});
  const auto all = b.sdpa(q, k, v);
  const auto out = b.getitem(all, 0);
  const auto y = is_returned ? out : b.exp(out);
  b.result(y);
  b.when(sw::phase::backward);
  const auto g = b.tangent("g", y);
  const auto back = b.sdpa_backward(g, q, k, v, out, b.getitem(all, 1), b.getitem(all, 2), b.getitem(all, 3));
  for (int i = 0; i < 3; ++i) b.result(b.getitem(back, i));
  return b.finish();
}

struct planned {
  sw::spmd_cost_model model;
  sw::assignment choice;

  planned(sw::computation graph, std::vector<std::int64_t> mesh, double network = 50, bool rings = true)
      : model(std::move(graph), sw::device_mesh(std::move(mesh)), sw::roofline{sw::find_device("h100")}, links(network),
              sw::standard_rules({.attention_by_positions = true, .attention_in_rings = rings})),
        choice(by_positions()) {}

  [[nodiscard]] static sw::alpha_beta links(double bandwidth) {
    sw::alpha_beta made;
    made.link_bandwidth = made.network_bandwidth = bandwidth;
    return made;
  }
  /// Everything cut by positions along the first mesh dimension, whole along others; keys and values go round.
  [[nodiscard]] sw::assignment by_positions() const {
    sw::assignment found;
    const auto& operations = model.operations().operations;
    for (std::uint32_t v = 0; v < operations.size(); ++v) {
      const sw::strategy_list& list = model.strategies(v);
      sw::strategy best = 0;
      for (sw::strategy s = 0; s < list.size(); ++s) {
        const auto lies = [&](const sw::sharding& where, const sw::tensor& t) {
          bool is = where.is_none() || where[0] == (t.rank() < 3 ? sw::dim_placement() : sw::dim_placement::shard(2));
          for (std::size_t d = 1; d < where.size(); ++d) is = is && where[d].is_replicated();
          return is;
        };
        bool all = true;
        for (std::size_t k = 0; k < operations[v].outputs.size(); ++k)
          all = all && lies(list.strategies[s].outputs[k], operations[v].outputs[k]);
        for (std::size_t a = 0; a < operations[v].inputs.size(); ++a) {
          const auto& from = operations[operations[v].inputs[a]];
          all = all && lies(list.strategies[s].inputs[a], from.outputs[sw::element_taken(operations[v], from)]);
        }
        if (all && (list.rings.empty() || list.ring(s) != nullptr)) best = s;
      }
      found.push_back(best);
    }
    return found;
  }
  [[nodiscard]] std::uint32_t vertex(const std::string& op) const {
    const auto& operations = model.operations().operations;
    for (std::uint32_t v = 0; v < operations.size(); ++v)
      if (operations[v].op == op) return v;
    return ~0U;
  }
  [[nodiscard]] const sw::block_ring& ring(const std::string& op) const {
    const std::uint32_t v = vertex(op);
    const sw::block_ring* found = model.strategies(v).ring(choice[v]);
    REQUIRE(found != nullptr);
    return *found;
  }
};

/// Rows of some width, of one head.
struct matrix {
  std::size_t width = 1;
  numbers of = {};
  [[nodiscard]] std::size_t rows() const { return of.size() / width; }
  [[nodiscard]] double at(std::size_t i, std::size_t j) const { return of[i * width + j]; }
};
double dot(const matrix& a, std::size_t i, const matrix& b, std::size_t j) {
  double sum = 0;
  for (std::size_t c = 0; c < a.width; ++c) sum += a.at(i, c) * b.at(j, c);
  return sum;
}

/// Attention by its definition, no block anywhere.
numbers whole_attention(const matrix& q, const matrix& k, const matrix& v) {
  numbers out;
  for (std::size_t i = 0; i < q.rows(); ++i) {
    double all = 0;
    numbers row(v.width);
    for (std::size_t j = 0; j < k.rows(); ++j) {
      const double weight = std::exp(dot(q, i, k, j) / std::sqrt(static_cast<double>(q.width)));
      all += weight;
      for (std::size_t c = 0; c < v.width; ++c) row[c] += weight * v.at(j, c);
    }
    for (const double x : row) out.push_back(x / all);
  }
  return out;
}

/// Does what the tasks of a ring say, all ranks in step. A value is what a task gives; of a block forward: for each row
/// the largest score, the sum of the weights, and the weighted sum of values (the online softmax of Milakov and
/// Gimelshein, 2018).
class ranks_in_step {
 public:
  ranks_in_step(const planned& p, const std::map<std::string, matrix>& inputs)
      : p_(p),
        lowered_(sw::lower(p.model, p.choice)),
        g_(lowered_.tasks),
        ranks_(static_cast<std::size_t>(p.model.mesh().size())) {
    for (std::size_t r = 0; r < ranks_; ++r) values_.emplace_back(g_.size());
    for (task_index t = 0; t < g_.size(); ++t) {
      const std::vector<std::vector<numbers>> before = values_;
      for (std::size_t r = 0; r < ranks_; ++r) values_[r][t] = run(t, r, before, inputs);
    }
  }
  /// A result of the graph, of all ranks one after the other.
  [[nodiscard]] numbers result(std::size_t i) const {
    numbers all;
    const std::uint32_t v = p_.model.operations().results[i];
    for (std::size_t r = 0; r < ranks_; ++r) {
      const numbers& part = values_[r][lowered_.task_of[v]];
      all.insert(all.end(), part.begin(), part.end());
    }
    return all;
  }

 private:
  using all_values = std::vector<std::vector<numbers>>;

  [[nodiscard]] numbers run(task_index t, std::size_t r, const all_values& before,
                            const std::map<std::string, matrix>& inputs) const {
    const auto in = g_.inputs(t);
    const auto given = [&](std::size_t a) { return before[r][in[a]]; };
    const std::string op(g_.op(t));
    if (g_.kind(t) == task_kind::input) {
      const numbers& all = inputs.at(p_.model.operations().operations[lowered_.origin[t].operation].name).of;
      const auto part = static_cast<std::ptrdiff_t>(all.size() / ranks_);
      const auto begin = all.begin() + static_cast<std::ptrdiff_t>(r) * part;
      return {begin, begin + part};
    }
    if (op == "shift") {
      const std::size_t from = (r + ranks_ - 1) % ranks_;
      numbers moved;
      for (const task_index p : in) moved.insert(moved.end(), before[from][p].begin(), before[from][p].end());
      if (p_.model.operations().operations[lowered_.origin[t].operation].op == "sdpa_backward" &&
          g_.op(in[0]) == "sdpa_backward")
        return sums_of(before[from][in[0]]);  // a block's sums go on, what stays does not
      return moved;
    }
    if (op == "wait") return given(0);
    if (op == "add") {
      numbers sum = sums_of(given(0));
      const numbers there = given(1);
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += there[i];
      return sum;
    }
    if (op == "cast") return given(0);
    if (op == "getitem") return element(t, given(0), in[0]);
    if (op == "sdpa") return forward(t, r, before);
    if (op == "sdpa_backward") return backward(t, r, before);
    return {};
  }

  /// Keys and values as a block takes them: from their own tasks, or together from a wait.
  [[nodiscard]] std::pair<matrix, matrix> parts(task_index t, std::size_t first, const numbers& k,
                                                const numbers& v) const {
    if (g_.inputs(t)[first] != g_.inputs(t)[first + 1]) return {{width_, k}, {width_, v}};
    const auto half = static_cast<std::ptrdiff_t>(k.size() / 2);
    return {{width_, {k.begin(), k.begin() + half}}, {width_, {k.begin() + half, k.end()}}};
  }
  [[nodiscard]] bool is_last(task_index t) const { return lowered_.task_of[lowered_.origin[t].operation] == t; }

  [[nodiscard]] numbers forward(task_index t, std::size_t r, const all_values& before) const {
    const auto in = g_.inputs(t);
    const matrix q{width_, before[r][in[0]]};
    const auto [k, v] = parts(t, 1, before[r][in[1]], before[r][in[2]]);
    const std::size_t stride = 2 + width_;
    numbers state = in.size() > 3 ? before[r][in[3]] : numbers();
    if (state.empty())
      for (std::size_t i = 0; i < q.rows(); ++i) {
        state.insert(state.end(), {-1e300, 0});
        state.insert(state.end(), width_, 0.0);
      }
    for (std::size_t i = 0; i < q.rows(); ++i) {
      double* const row = state.data() + i * stride;
      for (std::size_t j = 0; j < k.rows(); ++j) {
        const double score = dot(q, i, k, j) / std::sqrt(static_cast<double>(width_));
        const double most = std::max(row[0], score), old = std::exp(row[0] - most), fresh = std::exp(score - most);
        row[0] = most;
        row[1] = row[1] * old + fresh;
        for (std::size_t c = 0; c < width_; ++c) row[2 + c] = row[2 + c] * old + fresh * v.at(j, c);
      }
    }
    if (!is_last(t)) return state;
    numbers out;  // the result, then the logarithm of the sums
    for (std::size_t i = 0; i < q.rows(); ++i)
      for (std::size_t c = 0; c < width_; ++c) out.push_back(state[i * stride + 2 + c] / state[i * stride + 1]);
    for (std::size_t i = 0; i < q.rows(); ++i) out.push_back(state[i * stride] + std::log(state[i * stride + 1]));
    return out;
  }

  /// What stays of a block, then what goes round.
  [[nodiscard]] numbers backward(task_index t, std::size_t r, const all_values& before) const {
    const auto in = g_.inputs(t);
    const auto given = [&](std::size_t a) { return before[r][in[a]]; };
    const matrix g{width_, given(0)}, q{width_, given(1)}, out{width_, given(4)};
    const auto [k, v] = parts(t, 2, given(2), given(3));
    const numbers sums = given(5);
    const double scale = 1 / std::sqrt(static_cast<double>(width_));
    numbers dq(q.of.size()), dk(k.of.size()), dv(v.of.size());
    if (in.size() > 8) {
      const numbers earlier = given(8);
      std::copy_n(earlier.begin(), dq.size(), dq.begin());
    }
    for (std::size_t i = 0; i < q.rows(); ++i)
      for (std::size_t j = 0; j < k.rows(); ++j) {
        const double weight = std::exp(dot(q, i, k, j) * scale - sums[i]);
        const double slope = weight * (dot(g, i, v, j) - dot(g, i, out, i)) * scale;
        for (std::size_t c = 0; c < width_; ++c) {
          dq[i * width_ + c] += slope * k.at(j, c);
          dk[j * width_ + c] += slope * q.at(i, c);
          dv[j * width_ + c] += weight * g.at(i, c);
        }
      }
    for (const numbers* more : {&dk, &dv}) dq.insert(dq.end(), more->begin(), more->end());
    return dq;
  }
  [[nodiscard]] static numbers sums_of(const numbers& block) {
    return {block.begin() + static_cast<std::ptrdiff_t>(block.size() / 3), block.end()};
  }
  /// Of a tuple that a task gives.
  [[nodiscard]] numbers element(task_index t, const numbers& all, task_index from) const {
    const auto& op = p_.model.operations().operations[lowered_.origin[t].operation];
    const auto index = static_cast<std::size_t>(op.with.index);
    const auto cut = [&](std::size_t begin, std::size_t end) {
      return numbers(all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end));
    };
    if (g_.op(from) == "sdpa") {
      const std::size_t rows = all.size() / (width_ + 1);
      return index == 0 ? cut(0, rows * width_) : index == 1 ? cut(rows * width_, all.size()) : numbers();
    }
    if (g_.op(from) == "sdpa_backward") return cut(0, all.size() / 3);
    return index == 1 ? cut(0, all.size() / 2) : cut(all.size() / 2, all.size());  // what came home
  }

  const planned& p_;
  sw::lowered_graph lowered_;
  const sw::task_graph& g_;
  std::size_t ranks_;
  std::size_t width_ = static_cast<std::size_t>(p_.model.operations().operations[0].outputs[0].shape[3]);
  all_values values_;
};

matrix random_matrix(std::size_t rows, std::size_t width, sw::random_source& random) {
  matrix made{width, {}};
  for (std::size_t i = 0; i < rows * width; ++i) made.of.push_back(4 * random.unit() - 2);
  return made;
}

void check_near(const numbers& found, const numbers& expected, double epsilon) {
  REQUIRE(found.size() == expected.size());
  for (std::size_t i = 0; i < found.size(); ++i)
    CHECK(std::abs(found[i] - expected[i]) <= epsilon * std::max(1.0, std::abs(expected[i])));
}

/// Whether `t` comes before `u` in every order.
bool comes_before(const sw::task_graph& g, task_index t, task_index u) {
  std::vector<char> after(g.size());
  after[t] = 1;
  for (task_index w = t + 1; w <= u; ++w)
    for (const auto& e : g.dependencies().in(w))
      if (after[e.source] != 0) after[w] = 1;
  return after[u] != 0;
}

}  // namespace

TEST_SUITE("ring of blocks") {
  TEST_CASE("done as its tasks say, by all ranks in step, it is attention, and its gradients are those of attention") {
    sw::random_source random(7);
    for (const std::int64_t ranks : {2, 3, 4, 5}) {
      CAPTURE(ranks);
      const std::size_t positions = static_cast<std::size_t>(2 * ranks), width = 3;
      std::map<std::string, matrix> inputs;
      for (const char* name : {"q", "k", "v", "g"}) inputs[name] = random_matrix(positions, width, random);
      const planned p(attention(2 * ranks, 3), {ranks});
      REQUIRE(p.ring("sdpa").blocks == ranks);
      REQUIRE(p.ring("sdpa_backward").blocks == ranks);
      const ranks_in_step done(p, inputs);
      check_near(done.result(0), whole_attention(inputs["q"], inputs["k"], inputs["v"]), 1e-12);
      // gradients by differences of the definition
      std::size_t result = 1;
      for (const char* name : {"q", "k", "v"}) {
        CAPTURE(name);
        numbers slopes;
        for (std::size_t i = 0; i < positions * width; ++i) {
          constexpr double step = 1e-5;
          double rise = 0;
          for (const double sign : {1.0, -1.0}) {
            auto moved = inputs;
            moved[name].of[i] += sign * step;
            const numbers out = whole_attention(moved["q"], moved["k"], moved["v"]);
            for (std::size_t o = 0; o < out.size(); ++o) rise += sign * out[o] * inputs["g"].of[o];
          }
          slopes.push_back(rise / (2 * step));
        }
        check_near(done.result(result++), slopes, 1e-8);
      }
    }
  }

  TEST_CASE("blocks follow each other, an exchange may run beside the block that does not wait for it") {
    const planned p(attention(1 << 14, 128, 8, 2), {8});
    const sw::lowered_graph lowered = sw::lower(p.model, p.choice);
    const sw::task_graph& g = lowered.tasks;
    for (const std::string op : {"sdpa", "sdpa_backward"}) {
      CAPTURE(op);
      const std::uint32_t v = p.vertex(op);
      const bool is_back = op != "sdpa";
      std::vector<task_index> blocks, parts, sums;
      for (task_index t = 0; t < g.size(); ++t) {
        if (lowered.origin[t].operation != v) continue;
        if (g.op(t) == op) blocks.push_back(t);
        if (g.is_collective(t)) (g.name_of(t).find(".part.") != std::string::npos ? parts : sums).push_back(t);
        CHECK(lowered.origin[t].is_redistribution() == (g.is_collective(t) || g.kind(t) == task_kind::wait));
      }
      REQUIRE(blocks.size() == 8);
      REQUIRE(parts.size() == 7);
      CHECK(sums.size() == (is_back ? 8U : 0U));
      CHECK(lowered.task_of[v] == blocks.back());
      const std::int64_t part = 2 * 2 * (1 << 14) / 8 * 128 * 2;  // keys and values, two heads, bf16
      for (const task_index t : parts) {
        CHECK(g.collective(t).op == collective::shift);
        CHECK(g.collective(t).bytes_in == sw::bytes(part));
        CHECK(g.collective(t).bytes_out == sw::bytes(part));
      }
      for (const task_index t : sums) CHECK(g.collective(t).bytes_in == sw::bytes(2 * part));  // in f32
      for (std::size_t k = 1; k < 8; ++k) {
        CHECK(comes_before(g, blocks[k - 1], blocks[k]));
        CHECK(comes_before(g, parts[k - 1], blocks[k]));
        CHECK(!comes_before(g, blocks[k - 1], parts[k - 1]));  // beside the block before the one that needs it
        CHECK(!comes_before(g, parts[k - 1], blocks[k - 1]));
        if (!is_back) continue;
        CHECK(comes_before(g, blocks[k - 1], sums[k - 1]));
        CHECK(!comes_before(g, sums[k - 1], blocks[k]));  // only its sum needs them
        CHECK(comes_before(g, sums[k - 1], sums[k]));
      }
    }
  }

  TEST_CASE("in order it takes what its blocks take, and what of the exchanges they do not hide: as it is priced") {
    for (const double bandwidth : {0.1, 1.0, 3.0, 10.0, 1000.0})
      for (const std::int64_t ranks : {2, 3, 8}) {
        CAPTURE(bandwidth);
        CAPTURE(ranks);
        const planned p(attention(1 << 12, 128, 4, 4), {ranks}, bandwidth);
        const sw::task_graph g = sw::lower(p.model, p.choice).tasks;
        const sw::timeline line = sw::simulate(g, sw::schedule_tasks(g, {}, sw::in_order{}));
        const double priced = p.model.vertex_cost(p.vertex("sdpa"), p.choice[p.vertex("sdpa")]) +
                              p.model.vertex_cost(p.vertex("sdpa_backward"), p.choice[p.vertex("sdpa_backward")]);
        CHECK(std::abs(static_cast<double>(line.end_to_end.count()) - priced * 1e3) < 4.0 * static_cast<double>(ranks));
        // forward in closed form: what a block does not hide of each exchange, beside the first and beside later ones
        const sw::block_ring& ring = p.ring("sdpa");
        const double x = p.model.exchange_us(ring.part, 0), n = static_cast<double>(ranks);
        const double waits =
            std::max(0.0, x - ring.block_us) + (n - 2) * std::max(0.0, x - ring.block_us - ring.merge_us);
        CHECK(sw::unhidden_us(ring, x, 0) == doctest::Approx(waits));
        CHECK(ring.blocks_us() == doctest::Approx(n * ring.block_us + (n - 1) * ring.merge_us));
        // the last exchange of gradients hides nowhere
        const sw::block_ring& back = p.ring("sdpa_backward");
        const double y = p.model.exchange_us(back.sums, 0);
        CHECK(sw::unhidden_us(back, p.model.exchange_us(back.part, 0), y) >= y * (1 - 1e-12));
        if (bandwidth == 1000) CHECK(sw::unhidden_us(back, 0, y) == doctest::Approx(y));
      }
  }

  TEST_CASE("two parts of keys and values lie on a device, where gathered ones lie whole") {
    const auto peak_of = [](bool rings) {
      planned p(attention(1 << 15, 128, 8, 8), {8}, 50, rings);
      const sw::task_graph g = sw::lower(p.model, p.choice, {.wait_shares_storage = true}).tasks;
      return sw::simulate(g, sw::schedule_tasks(g, {}, sw::in_order{})).peak.count();
    };
    const planned p(attention(1 << 15, 128, 8, 8), {8});
    const sw::lowered_graph lowered = sw::lower(p.model, p.choice);
    // what exchanges forward hold at once in order: two parts
    std::int64_t held = 0, most = 0;
    std::map<std::uint32_t, task_index> last;
    const sw::task_graph& g = lowered.tasks;
    const auto of_part = [&](task_index t) {
      return lowered.origin[t].operation == p.vertex("sdpa") && g.is_collective(t);
    };
    for (task_index t = 0; t < g.size(); ++t)
      for (const task_index q : g.inputs(t))
        for (std::size_t i = 0; i < g.output_count(q); ++i) last[g.output_storage(q, i)] = t;
    for (task_index t = 0; t < g.size(); ++t) {
      if (of_part(t)) held += g.collective(t).bytes_out.count();
      most = std::max(most, held);
      for (task_index q = 0; q < g.size(); ++q)
        if (of_part(q) && last[g.output_storage(q, 0)] == t) held -= g.collective(q).bytes_out.count();
    }
    CHECK(held == 0);
    CHECK(most == 2 * p.ring("sdpa").part.count());
    CHECK(peak_of(true) < peak_of(false));
  }

  TEST_CASE("what it takes of each channel is told beforehand, and no order ends before what is told") {
    sw::random_source random(3);
    std::size_t rings = 0;
    for (const std::vector<std::int64_t>& mesh : {std::vector<std::int64_t>{4}, {2, 3}, {3, 2}})
      for (const double bandwidth : {1.0, 50.0}) {
        planned p(attention(1 << 13, 128, 6, 6), mesh, bandwidth);
        const sw::lowered_work prices(p.model);
        const sw::step_work alone = sw::describe_work(p.model.graph(), prices.alone());
        const sw::step_work least = sw::describe_work(p.model.graph(), prices.least());
        sw::detail::placement_bound bound(least, std::nullopt, least.vertex_count());
        for (int trial = 0; trial < shardweave_test::sized(80, 20); ++trial) {
          if (trial > 0)
            for (std::uint32_t v = 0; v < p.choice.size(); ++v)
              p.choice[v] = static_cast<sw::strategy>(random.below(p.model.strategy_count(v)));
          bool possible = true;
          for (const auto& e : p.model.graph().all_edges())
            possible = possible && std::isfinite(p.model.edge_cost(e, p.choice[e.source], p.choice[e.target]));
          if (!possible) continue;
          const sw::lowered_graph lowered = sw::lower(p.model, p.choice);
          const sw::task_graph& g = lowered.tasks;
          std::vector<double> busy(mesh.size() + 1), all(mesh.size() + 1);
          for (task_index t = 0; t < g.size(); ++t)
            busy[g.is_collective(t) ? 1 + g.collective(t).group : 0] += static_cast<double>(g.duration(t).count());
          for (std::uint32_t v = 0; v < alone.vertex_count(); ++v) {
            all[0] += alone.time(v, p.choice[v]);
            if (p.model.strategies(v).ring(p.choice[v]) != nullptr) ++rings;
          }
          for (std::size_t c = 0; c < all.size(); ++c) {
            std::map<std::uint32_t, double> of_share;  // no value is brought anywhere twice here, or it is shared
            double sum = all[c];
            for (const sw::work_edge& e : alone.edges) {
              const double load = alone.load(e, c, p.choice[e.from], p.choice[e.to]);
              sum += load;
              of_share[e.share] = std::max(of_share[e.share], load);
            }
            for (const auto& [share, load] : of_share) all[c] += load;
            CHECK(all[c] <= busy[c]);
            CHECK(busy[c] <= sum);
            if (trial == 0) CHECK(busy[c] == sum);  // rings alone: to the nanosecond
          }
          const double told = bound(p.choice);
          for (const sw::schedule& order :
               {sw::schedule_tasks(g, {}, sw::in_order{}), sw::schedule_tasks(g, {}, sw::search<>{.changes = 200})})
            CHECK(told <= static_cast<double>(sw::simulate(g, order).end_to_end.count()));
        }
      }
    CHECK(rings > shardweave_test::sized<std::size_t>(100, 25));
  }

  TEST_CASE("attention may be made again with its exchanges, and is not cut into pieces a second time") {
    const planned p(attention(1 << 13, 128, 4, 4, false), {4});
    const sw::lowered_graph lowered = sw::lower(p.model, p.choice);
    std::vector<std::uint32_t> blocks(lowered.tasks.size(), 0);
    for (task_index t = 0; t < blocks.size(); ++t)
      if (lowered.tasks.kind(t) == task_kind::input || lowered.tasks.kind(t) == task_kind::output)
        blocks[t] = sw::no_index;
    const auto again = sw::recompute_by_rule(lowered.tasks, blocks, sw::recompute_rule::attention);
    std::map<std::string, int> repeated;
    for (task_index t = 0; t < again.graph->tasks.size(); ++t)
      if (again.graph->again[t]) ++repeated[std::string(again.graph->tasks.op(t))];
    CHECK(repeated["sdpa"] == 4);
    CHECK(repeated["shift"] == 3);
    const auto pieces = sw::with_pipelined_collectives(lowered, p.model, p.choice, 4);
    CHECK(pieces.collectives == 0);
    CHECK(pieces.lowered.tasks.size() == lowered.tasks.size());
  }
}

}  // namespace ring_tasks_tests
