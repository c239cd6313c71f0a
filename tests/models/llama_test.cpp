#include "interpreter.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/models/llama.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace llama_tests {
namespace {

sw::llama_config published(const char* name, std::int64_t d, std::int64_t layers, std::int64_t heads, std::int64_t f,
                           bool tied) {
  return {.name = name,
          .hidden_size = d,
          .num_hidden_layers = layers,
          .num_attention_heads = heads,
          .num_key_value_heads = 8,
          .intermediate_size = f,
          .vocab_size = 128256,
          .tie_word_embeddings = tied,
          .rope_theta = 500000,
          .rms_norm_eps = 1e-5};
}

const sw::llama_config llama_3b = published("llama3-3b", 3072, 28, 24, 8192, true);

sw::llama_config tiny(bool tied) {
  return {.name = "tiny",
          .hidden_size = 8,
          .num_hidden_layers = 2,
          .num_attention_heads = 2,
          .num_key_value_heads = 1,
          .intermediate_size = 12,
          .vocab_size = 11,
          .tie_word_embeddings = tied,
          .rope_theta = 100,
          .rms_norm_eps = 1e-3};
}

using weights = std::map<std::string, std::vector<double>>;

/// The forward pass again, straight from the papers: real arithmetic, loops over tokens.
struct plain_llama {
  sw::llama_config c;
  std::size_t batch, sequence;

  [[nodiscard]] std::vector<double> norm(const std::vector<double>& x, const std::vector<double>& w) const {
    double squares = 0;
    for (const double e : x) squares += e * e;
    const double scale = std::sqrt(squares / static_cast<double>(x.size()) + c.rms_norm_eps);
    std::vector<double> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] / scale * w[i];
    return y;
  }
  [[nodiscard]] static std::vector<double> times(const std::vector<double>& w, const std::vector<double>& x) {
    std::vector<double> y(w.size() / x.size());
    for (std::size_t o = 0; o < y.size(); ++o)
      for (std::size_t i = 0; i < x.size(); ++i) y[o] += w[o * x.size() + i] * x[i];
    return y;
  }
  void rotate(std::vector<double>& x, std::size_t position) const {
    const auto h = static_cast<std::size_t>(c.head_size());
    for (std::size_t i = 0; i < x.size(); i += 2) {
      const double angle =
          static_cast<double>(position) * std::pow(c.rope_theta, -static_cast<double>(i % h) / static_cast<double>(h));
      const double a = x[i];
      const double b = x[i + 1];
      x[i] = a * std::cos(angle) - b * std::sin(angle);
      x[i + 1] = a * std::sin(angle) + b * std::cos(angle);
    }
  }

  /// Logits [batch, sequence, vocabulary], flat.
  [[nodiscard]] std::vector<double> operator()(const weights& w, const std::vector<std::size_t>& tokens) const {
    const auto d = static_cast<std::size_t>(c.hidden_size);
    const auto h = static_cast<std::size_t>(c.head_size());
    const auto heads = static_cast<std::size_t>(c.num_attention_heads);
    const auto share = heads / static_cast<std::size_t>(c.num_key_value_heads);
    std::vector<double> logits;
    for (std::size_t b = 0; b < batch; ++b) {
      std::vector<std::vector<double>> x(sequence);
      const std::vector<double>& table = w.at("embedding");
      for (std::size_t s = 0; s < sequence; ++s) {
        const auto row = table.begin() + static_cast<std::ptrdiff_t>(tokens[b * sequence + s] * d);
        x[s].assign(row, row + static_cast<std::ptrdiff_t>(d));
      }
      for (std::int64_t l = 0; l < c.num_hidden_layers; ++l) {
        const auto of = [&](const char* name) -> const std::vector<double>& {
          return w.at("layers." + std::to_string(l) + "." + name);
        };
        std::vector<std::vector<double>> k(sequence), v(sequence);
        for (std::size_t s = 0; s < sequence; ++s) {
          const auto y = norm(x[s], of("attention_norm"));
          k[s] = times(of("wk"), y);
          v[s] = times(of("wv"), y);
          rotate(k[s], s);
        }
        for (std::size_t s = 0; s < sequence; ++s) {
          auto q = times(of("wq"), norm(x[s], of("attention_norm")));
          rotate(q, s);
          std::vector<double> mixed(d);
          for (std::size_t head = 0; head < heads; ++head) {
            std::vector<double> score(s + 1);
            double total = 0;
            for (std::size_t t = 0; t <= s; ++t) {
              for (std::size_t i = 0; i < h; ++i) score[t] += q[head * h + i] * k[t][head / share * h + i];
              score[t] = std::exp(score[t] / std::sqrt(static_cast<double>(h)));
              total += score[t];
            }
            for (std::size_t t = 0; t <= s; ++t)
              for (std::size_t i = 0; i < h; ++i) mixed[head * h + i] += score[t] / total * v[t][head / share * h + i];
          }
          const auto out = times(of("wo"), mixed);
          for (std::size_t i = 0; i < d; ++i) x[s][i] += out[i];
        }
        for (std::size_t s = 0; s < sequence; ++s) {
          const auto y = norm(x[s], of("ffn_norm"));
          auto gate = times(of("w1"), y);
          const auto up = times(of("w3"), y);
          for (std::size_t i = 0; i < gate.size(); ++i) gate[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
          const auto out = times(of("w2"), gate);
          for (std::size_t i = 0; i < d; ++i) x[s][i] += out[i];
        }
      }
      for (std::size_t s = 0; s < sequence; ++s) {
        const auto row = times(w.at(c.tie_word_embeddings ? "embedding" : "output"), norm(x[s], w.at("norm")));
        logits.insert(logits.end(), row.begin(), row.end());
      }
    }
    return logits;
  }
};

std::map<std::string, int> op_counts(const sw::computation& graph) {
  std::map<std::string, int> counts;
  for (const sw::operation& op : graph.operations) ++counts[op.op];
  return counts;
}

std::map<std::size_t, int> degrees(const sw::computation& graph, bool incoming) {
  std::vector<std::size_t> degree(graph.operations.size() - 1);
  for (std::size_t v = 0; v < degree.size(); ++v)
    for (const std::uint32_t input : graph.operations[v].inputs) ++degree[incoming ? v : input];
  std::map<std::size_t, int> histogram;
  for (const std::size_t d : degree) ++histogram[d];
  return histogram;
}

}  // namespace

TEST_SUITE("llama_training_graph") {
  TEST_CASE("published models have 60 + 255 L vertices and as many weights as published") {
    const std::vector<std::tuple<sw::llama_config, std::size_t, int, double>> models{
        {published("1b", 2048, 16, 32, 8192, true), 4140, 146, 1.236e9},
        {llama_3b, 7200, 254, 3.213e9},
        {published("8b", 4096, 32, 32, 14336, false), 8220, 291, 8.030e9},
        {published("70b", 8192, 80, 64, 28672, false), 20460, 723, 70.55e9},
        {published("405b", 16384, 126, 128, 53248, false), 32190, 1137, 405.85e9}};
    for (const auto& [config, vertices, parameters, weights_published] : models) {
      if (shardweave_test::is_sanitized && vertices > 5000) continue;
      CAPTURE(config.name);
      const sw::computation graph = sw::llama_training_graph(config, {64, 256});
      CHECK(graph.operations.size() == vertices);
      CHECK(op_counts(graph)["parameter"] == parameters);
      CHECK(graph.gradient_of.size() == static_cast<std::size_t>(parameters));
      CHECK(graph.results.size() == static_cast<std::size_t>(parameters) + 1);
      std::int64_t total = 0;
      for (const sw::operation& op : graph.operations)
        if (op.kind == sw::role::parameter) total += op.outputs[0].element_count();
      CHECK(total == config.parameter_count());
      CHECK(static_cast<double>(total) == doctest::Approx(weights_published).epsilon(1e-3));
    }
  }

  TEST_CASE("the 3B model has the published edges, degrees and operations") {
    const sw::computation graph = sw::llama_training_graph(llama_3b, {64, 256});
    CHECK(num_edges(graph.graph()) == 8805 + graph.results.size());  // the published count leaves out "output"
    CHECK(degrees(graph, true) == std::map<std::size_t, int>{{0, 257}, {1, 5275}, {2, 1611}, {3, 28}, {8, 28}});
    CHECK(degrees(graph, false) ==
          std::map<std::size_t, int>{{0, 255}, {1, 5643}, {2, 934}, {3, 254}, {4, 84}, {6, 28}, {28, 1}});

    auto n = op_counts(graph);
    CHECK(n["alias"] == 1500);
    CHECK(n["permute"] == 815);
    CHECK(n["mul"] + n["mul_scalar"] == 764);
    CHECK(n["conv"] == 763);
    CHECK(n["einsum"] == 591);
    CHECK(n["cast"] == 510);
    CHECK(n["view"] == 476);
    CHECK(n["add"] + n["add_scalar"] == 281 + 57);
    CHECK(n["getitem"] == 196);
    CHECK(n["sum"] == 114);
    CHECK(n["view_as_complex"] == 112);
    CHECK(n["view_as_real"] == 112);
    CHECK(n["div"] + n["div_scalar"] == 85);
    CHECK(n["sub"] + n["rsub_scalar"] == 85);
    for (const char* op : {"pow", "mean", "rsqrt"}) CHECK(n[op] == 57);
    for (const char* op : {"neg", "exp", "conj", "clone"}) CHECK(n[op] == 56);
    for (const char* op : {"sdpa", "sdpa_backward", "reciprocal"}) CHECK(n[op] == 28);
    int eps = 0;
    for (const sw::operation& op : graph.operations) eps += op.op == "add_scalar" && op.with.scalar == 1e-5 ? 1 : 0;
    CHECK(eps == 57);
  }

  TEST_CASE("every layer holds 9 parameters, 104 forward and 142 backward vertices, the first 141") {
    const sw::computation graph = sw::llama_training_graph(llama_3b, {64, 256});
    std::map<std::int64_t, std::array<int, 3>> found;
    for (const sw::operation& op : graph.operations)
      ++found[op.layer][op.kind == sw::role::parameter ? 0 : op.when == sw::phase::forward ? 1 : 2];
    CHECK(found.size() == 29);
    // A layer owns the alias of what it returns, so the last backward one has none to hand on.
    CHECK(found[0] == std::array{9, 104, 141});
    for (std::int64_t l = 1; l < 28; ++l) CHECK(found[l] == std::array{9, 104, 142});
  }

  TEST_CASE("operations come in order, with unique names, and name earlier operations only") {
    const sw::computation graph = sw::llama_training_graph(tiny(false), {2, 4});
    std::set<std::string> names;
    bool backward = false;
    for (std::uint32_t v = 0; v < graph.operations.size(); ++v) {
      const sw::operation& op = graph.operations[v];
      CHECK_MESSAGE(names.insert(op.name).second, op.name);
      for (const std::uint32_t input : op.inputs) CHECK(input < v);
      if (op.when == sw::phase::backward) backward = true;
      if (op.kind == sw::role::none && op.op != "alias")
        CHECK_MESSAGE((op.when == sw::phase::backward) == backward, op.name);
    }
    CHECK(graph.operations.back().op == "output");
    CHECK(graph.operations.back().inputs == graph.results);
  }

  TEST_CASE("operations of one site do the same in every layer") {
    const sw::computation graph = sw::llama_training_graph(llama_3b, {64, 256});
    std::map<std::uint64_t, std::vector<const sw::operation*>> sites;
    for (const sw::operation& op : graph.operations)
      if (op.site != 0) sites[op.site].push_back(&op);
    CHECK(sites.size() == 255);
    int short_sites = 0;
    for (const auto& [site, members] : sites) {
      if (members.size() == 27)
        ++short_sites;
      else
        CHECK(members.size() == 28);
      std::set<std::int64_t> layers;
      for (const sw::operation* op : members) {
        layers.insert(op->layer);
        CHECK(op->op == members[0]->op);
        CHECK(op->group == members[0]->group);
        CHECK(op->outputs == members[0]->outputs);
        CHECK(op->with == members[0]->with);
        CHECK(op->inputs.size() == members[0]->inputs.size());
      }
      CHECK(layers.size() == members.size());
    }
    CHECK(short_sites == 1);
  }

  TEST_CASE("parameters pair with gradients, the logits with the tangent") {
    for (const bool tied : {false, true}) {
      const sw::computation graph = sw::llama_training_graph(tiny(tied), {2, 4});
      std::set<std::uint32_t> with_gradient;
      for (const auto& [parameter, gradient] : graph.gradient_of) {
        CHECK(graph.operations[parameter].kind == sw::role::parameter);
        CHECK(graph.operations[gradient].op == "alias");
        CHECK(graph.operations[gradient].outputs[0].shape == graph.operations[parameter].outputs[0].shape);
        CHECK(graph.operations[gradient].outputs[0].type == sw::dtype::f32);
        with_gradient.insert(parameter);
      }
      CHECK(with_gradient.size() == (tied ? 20 : 21));
      REQUIRE(graph.tangent_of.size() == 1);
      CHECK(graph.tangent_of[0].first == graph.results[0]);
      CHECK(graph.operations[graph.tangent_of[0].second].kind == sw::role::tangent);
      CHECK(graph.operations[graph.results[0]].outputs[0] == sw::tensor{{2, 4, 11}, sw::dtype::bf16});
    }
  }

  TEST_CASE("executed, the graph gives LLaMA's logits and the gradients that finite differences give") {
    for (const bool tied : {false, true}) {
      CAPTURE(tied);
      const sw::llama_config config = tiny(tied);
      const sw::computation graph = sw::llama_training_graph(config, {2, 4});
      sw::random_source random(7);
      weights w;
      std::map<std::string, interpreter::array> sources;
      for (const sw::operation& op : graph.operations) {
        if (op.kind != sw::role::parameter && op.kind != sw::role::tangent) continue;
        interpreter::array a = interpreter::zeros(op.outputs[0].shape);
        for (auto& e : a.data) e = 1.2 * random.unit() - 0.5;
        for (const auto& e : a.data) w[op.name].push_back(e.real());
        sources[op.name] = std::move(a);
      }
      const std::vector<std::size_t> tokens{3, 1, 4, 1, 5, 9, 2, 10};
      interpreter::array token_array = interpreter::zeros({2, 4});
      std::ranges::copy(tokens, token_array.data.begin());
      sources["tokens"] = std::move(token_array);
      interpreter::array rotations = interpreter::zeros({4, 2});
      for (std::size_t s = 0; s < 4; ++s)
        for (std::size_t j = 0; j < 2; ++j)
          rotations.data[s * 2 + j] =
              std::polar(1.0, static_cast<double>(s) * std::pow(config.rope_theta, -static_cast<double>(j) / 2));
      sources["rotations"] = std::move(rotations);

      const auto values = interpreter::run(graph, sources);
      const plain_llama model{config, 2, 4};
      const auto logits = model(w, tokens);
      const auto& found = values[graph.results[0]].front().data;
      REQUIRE(found.size() == logits.size());
      for (std::size_t i = 0; i < logits.size(); ++i)
        CHECK(found[i].real() == doctest::Approx(logits[i]).epsilon(1e-10));

      const std::vector<double> tangent = w.at("tangent");
      const auto loss = [&] {
        const auto y = model(w, tokens);
        double sum = 0;
        for (std::size_t i = 0; i < y.size(); ++i) sum += y[i] * tangent[i];
        return sum;
      };
      double worst = 0;
      double largest = 0;
      for (const auto& [parameter, gradient] : graph.gradient_of) {
        std::vector<double>& p = w.at(graph.operations[parameter].name);
        for (std::size_t i = 0; i < p.size(); i += shardweave_test::sized(1U, 11U)) {
          const double at = p[i];
          p[i] = at + 1e-5;
          const double above = loss();
          p[i] = at - 1e-5;
          const double below = loss();
          p[i] = at;
          const double expected = (above - below) / 2e-5;
          const double got = values[gradient].front().data[i].real();
          worst = std::max(worst, std::abs(got - expected) / (1e-2 + std::abs(expected)));
          largest = std::max(largest, std::abs(got));
        }
      }
      CHECK(worst < 1e-6);
      CHECK(largest > 1e-1);  // otherwise nothing was compared
    }
  }

  TEST_CASE("figures that make no model are refused") {
    sw::llama_config config = tiny(false);
    config.num_attention_heads = 3;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': hidden_size is 8, expected a multiple of twice num_attention_heads (6)",
                         sw::error);
    config = tiny(false);
    config.num_key_value_heads = 0;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': num_key_value_heads is 0, expected a positive number", sw::error);
    config.num_key_value_heads = 3;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': num_attention_heads is 2, expected a multiple of num_key_value_heads (3)",
                         sw::error);
    config = tiny(false);
    config.rope_theta = -1;
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(config, {2, 4}),
                         "model 'tiny': rope_theta is -1.000000, expected a positive number", sw::error);
    CHECK_THROWS_WITH_AS((void)sw::llama_training_graph(tiny(false), {2, 0}),
                         "model 'tiny': batch is 2 and sequence 0, expected positive numbers", sw::error);
  }
}

}  // namespace llama_tests
