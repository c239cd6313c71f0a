#include "finite_difference.hpp"
#include "interpreter.hpp"
#include "model_checks.hpp"
#include "models/llama_figures.hpp"
#include "plain_model.hpp"
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>

#include <doctest/doctest.h>
#include <support/published_llama.hpp>
#include <support/refusal.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
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

using namespace llama_figures;
using shardweave_test::published_llama;
const sw::llama_config llama_3b = published_llama(3072, 28, 24, 8192, true, "llama3-3b");

/// The published model of that size, written down once.
const sw::computation& graph_of_3b() {
  static const sw::computation graph = sw::llama_training_graph(llama_3b, {64, 256});
  return graph;
}

using plain_model::row;
using plain_model::weights;

/// The forward pass again, straight from the papers: real arithmetic, loops over tokens.
struct plain_llama {
  sw::llama_config c;
  std::size_t batch, sequence;

  [[nodiscard]] row norm(const row& x, const row& w) const { return plain_model::norm(x, w, c.rms_norm_eps); }
  void norm_heads(row& x, const row& w) const {
    const auto h = static_cast<std::ptrdiff_t>(c.head_size());
    for (auto head = x.begin(); head != x.end(); head += h) std::ranges::copy(norm(row(head, head + h), w), head);
  }
  void rotate(row& x, std::size_t position) const {
    const auto h = static_cast<std::size_t>(c.head_size());
    for (std::size_t i = 0; i < x.size(); i += 2)
      plain_model::turn(
          x, i,
          static_cast<double>(position) * std::pow(c.rope_theta, -static_cast<double>(i % h) / static_cast<double>(h)));
  }

  /// Logits [batch, sequence, vocabulary], flat.
  [[nodiscard]] row operator()(const weights& w, const std::vector<std::size_t>& tokens) const {
    using plain_model::times;
    const auto d = static_cast<std::size_t>(c.hidden_size);
    const auto h = static_cast<std::size_t>(c.head_size());
    const auto heads = static_cast<std::size_t>(c.num_attention_heads);
    const auto share = heads / static_cast<std::size_t>(c.num_key_value_heads);
    row logits;
    for (std::size_t b = 0; b < batch; ++b) {
      std::vector<row> x = plain_model::embedded(w.at("embedding"), d, tokens, b * sequence, sequence);
      for (std::int64_t l = 0; l < c.num_hidden_layers; ++l) {
        const auto of = [&](const char* name) -> const row& {
          return w.at("layers." + std::to_string(l) + "." + name);
        };
        const row &before = of("attention_norm"), &wq = of("wq"), &wk = of("wk"), &wv = of("wv"), &wo = of("wo");
        const row &between = of("ffn_norm"), &w1 = of("w1"), &w2 = of("w2"), &w3 = of("w3");
        std::vector<row> k(sequence), v(sequence);
        for (std::size_t s = 0; s < sequence; ++s) {
          const row y = norm(x[s], before);
          k[s] = times(wk, y);
          v[s] = times(wv, y);
          if (c.normed_heads) norm_heads(k[s], of("k_norm"));
          rotate(k[s], s);
        }
        for (std::size_t s = 0; s < sequence; ++s) {
          row q = times(wq, norm(x[s], before));
          if (c.normed_heads) norm_heads(q, of("q_norm"));
          rotate(q, s);
          row mixed(d);
          for (std::size_t head = 0; head < heads; ++head) {
            row score(s + 1);
            double total = 0;
            for (std::size_t t = 0; t <= s; ++t) {
              for (std::size_t i = 0; i < h; ++i) score[t] += q[head * h + i] * k[t][head / share * h + i];
              score[t] = std::exp(score[t] / std::sqrt(static_cast<double>(h)));
              total += score[t];
            }
            for (std::size_t t = 0; t <= s; ++t)
              for (std::size_t i = 0; i < h; ++i) mixed[head * h + i] += score[t] / total * v[t][head / share * h + i];
          }
          plain_model::add(x[s], times(wo, mixed));
        }
        for (row& token : x) plain_model::add(token, plain_model::feed(w1, w2, w3, norm(token, between)));
      }
      for (const row& token : x) {
        const row out = times(w.at(c.tie_word_embeddings ? "embedding" : "output"), norm(token, w.at("norm")));
        logits.insert(logits.end(), out.begin(), out.end());
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
        {published_llama(2048, 16, 32, 8192, true, "1b"), 4140, 146, 1.236e9},
        {llama_3b, 7200, 254, 3.213e9},
        {published_llama(4096, 32, 32, 14336, false, "8b"), 8220, 291, 8.030e9},
        {published_llama(8192, 80, 64, 28672, false, "70b"), 20460, 723, 70.55e9},
        {published_llama(16384, 126, 128, 53248, false, "405b"), 32190, 1137, 405.85e9}};
    for (const auto& [config, vertices, parameters, weights_published] : models) {
      if (shardweave_test::is_small_scale && vertices > 5000) continue;
      CAPTURE(config.name);
      const sw::computation graph = sw::llama_training_graph(config, {64, 256});
      CHECK(graph.operations.size() == vertices);
      CHECK(op_counts(graph)["parameter"] == parameters);
      CHECK(graph.gradient_of.size() == static_cast<std::size_t>(parameters));
      CHECK(graph.results.size() == static_cast<std::size_t>(parameters) + 1);
      const std::int64_t total = model_checks::parameter_elements(graph);
      CHECK(total == config.parameter_count());
      CHECK(static_cast<double>(total) == doctest::Approx(weights_published).epsilon(1e-3));
    }
  }

  TEST_CASE("the 3B model has the published edges, degrees and operations") {
    const sw::computation& graph = graph_of_3b();
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
    const sw::computation& graph = graph_of_3b();
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
    model_checks::check_order(graph);
    bool backward = false;
    for (const sw::operation& op : graph.operations) {
      if (op.when == sw::phase::backward) backward = true;
      if (op.kind == sw::role::none && op.op != "alias")
        CHECK_MESSAGE((op.when == sw::phase::backward) == backward, op.name);
    }
    CHECK(graph.operations.back().op == "output");
    CHECK(graph.operations.back().inputs == graph.results);
  }

  TEST_CASE("operations of one site do the same in every layer") {
    const sw::computation& graph = graph_of_3b();
    const auto sites = model_checks::checked_sites(graph);
    CHECK(sites.size() == 255);
    int short_sites = 0;
    for (const auto& [site, members] : sites) {
      if (members.size() == 27)
        ++short_sites;
      else
        CHECK(members.size() == 28);
      std::set<std::int64_t> layers;
      for (const sw::operation* op : members) layers.insert(op->layer);
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
    struct variant {
      bool tied = false, normed = false, plain = false;
    };
    for (const variant& is : {variant{}, variant{.tied = true}, variant{.normed = true, .plain = true}}) {
      CAPTURE(is.tied);
      CAPTURE(is.normed);
      sw::llama_config config = tiny(is.tied);
      config.normed_heads = is.normed;
      sw::training_shape shape{2, 4};
      if (is.plain) shape.attention = sw::attention_form::plain;
      const sw::computation graph = sw::llama_training_graph(config, shape);
      const std::vector<std::size_t> tokens{3, 1, 4, 1, 5, 9, 2, 10};
      auto [w, sources] = model_checks::draw(graph, 7, {2, 4}, tokens);
      interpreter::array rotations = interpreter::zeros({4, 2});
      for (std::size_t s = 0; s < 4; ++s)
        for (std::size_t j = 0; j < 2; ++j)
          rotations.data[s * 2 + j] =
              std::polar(1.0, static_cast<double>(s) * std::pow(config.rope_theta, -static_cast<double>(j) / 2));
      sources["rotations"] = std::move(rotations);
      if (is.plain) {
        interpreter::array mask = interpreter::zeros({4, 4});
        for (std::size_t q = 0; q < 4; ++q)
          for (std::size_t k = q + 1; k < 4; ++k) mask.data[q * 4 + k] = -1e9;
        sources["mask"] = std::move(mask);
      }

      const auto values = interpreter::run(graph, sources);
      const plain_llama model{config, 2, 4};
      model_checks::check_logits(values[graph.results[0]].front(), model(w, tokens));
      const auto errors = model_checks::compare_gradients(graph, values, w, shardweave_test::sized<std::size_t>(1, 11),
                                                          [&](const weights& at) { return model(at, tokens); });
      CHECK(errors.worst < 1e-6);
      CHECK(model_checks::parameter_elements(graph) == config.parameter_count());
      double largest = 0;
      for (const auto& [name, gradient] : errors.largest) largest = std::max(largest, gradient);
      CHECK(largest > 1e-1);  // otherwise nothing was compared
    }
  }

  TEST_CASE("losses are those of the logits, and gradients of relatives are what finite differences give") {
    const std::vector<std::size_t> tokens{3, 1, 4, 1, 5, 9, 2, 10}, labels{1, 4, 1, 5, 9, 2, 10, 0};
    using feed = sw::feed_forward_kind;
    for (const auto kind : {feed::gated_silu, feed::gelu, feed::squared_relu})
      for (const auto& [how, chunks] :
           {std::pair(sw::training_loss::fused, 1), std::pair(sw::training_loss::float32, 1),
            std::pair(sw::training_loss::sharded, 1), std::pair(sw::training_loss::fused, 2),
            std::pair(sw::training_loss::float32, 4), std::pair(sw::training_loss::sharded, 2)}) {
        CAPTURE(static_cast<int>(kind));
        CAPTURE(static_cast<int>(how));
        CAPTURE(chunks);
        if (shardweave_test::is_small_scale && static_cast<int>(kind) + 1 != static_cast<int>(how))
          continue;  // each once
        sw::llama_config config = tiny(false);
        config.feed_forward = kind;
        config.rotary = false;
        config.head_dim = config.hidden_size / config.num_attention_heads + 1;  // odd, and not the usual one
        std::int64_t weights_there = 0;
        const sw::computation graph =
            sw::llama_training_graph(config, {.batch = 2, .sequence = 4, .loss = how, .loss_chunks = chunks});
        for (const sw::operation& op : graph.operations)
          if (op.kind == sw::role::parameter) weights_there += op.outputs[0].element_count();
        CHECK(weights_there == config.parameter_count());
        auto made = model_checks::draw(graph, 7, {2, 4}, tokens);
        interpreter::array classes = interpreter::zeros({2, 4});
        std::ranges::copy(labels, classes.data.begin());
        made.sources["labels"] = classes;
        const double times = chunks == 1 ? 1 : 1.75;  // as a scaled loss has it
        made.sources["tangent"].data[0] = times;
        if (chunks > 1) {
          made.sources["one"] = interpreter::zeros({1, 1});
          made.sources["one"].data[0] = 1;
          const std::int64_t rows = 2 * 4 / chunks;  // no value has more words than those of a chunk
          for (const sw::operation& op : graph.operations)
            for (const sw::tensor& t : op.outputs)
              if (op.kind != sw::role::parameter && t.rank() == 3 && t.shape[2] == config.vocab_size)
                CHECK(t.element_count() == rows * config.vocab_size);
        }
        const auto values = interpreter::run(graph, made.sources);

        // the mean of log(sum(exp(y))) - y[label], from the logits of the graph without a loss
        sw::computation bare = sw::llama_training_graph(config, {2, 4});
        bare.operations.resize(bare.results[0] + 1);  // what comes behind the logits is not asked for
        auto given = made.sources;
        const auto loss = [&] {
          const auto all = interpreter::run(bare, given);
          const interpreter::array& y = all[bare.results[0]].front();
          const auto words = static_cast<std::size_t>(config.vocab_size);
          double sum = 0;
          for (std::size_t row = 0; row < labels.size(); ++row) {
            double total = 0;
            for (std::size_t k = 0; k < words; ++k) total += std::exp(y.data[row * words + k].real());
            sum += std::log(total) - y.data[row * words + labels[row]].real();
          }
          return sum / static_cast<double>(labels.size());
        };
        CHECK(values[graph.results[0]].front().data[0].real() == doctest::Approx(loss()).epsilon(1e-10));
        double largest = 0;
        for (const auto& [parameter, gradient] : graph.gradient_of) {
          interpreter::array& p = given.at(graph.operations[parameter].name);
          for (std::size_t k = 0; k < p.data.size(); k += 1 + p.data.size() / 3) {
            const double expected = times * finite_difference::slope(p.data[k], loss);
            const double got = values[gradient].front().data[k].real();
            CHECK(std::abs(got - expected) / (1e-2 + std::abs(expected)) < 1e-5);
            largest = std::max(largest, std::abs(expected));
          }
        }
        CHECK(largest > 1e-2);  // otherwise nothing was compared
      }
  }

  TEST_CASE("chunks of a loss are equal, and there is a loss") {
    const auto refusal = [](sw::training_shape shape) {
      return shardweave_test::refusal_of([&] { (void)sw::llama_training_graph(tiny(false), shape); });
    };
    CHECK(refusal({.batch = 2, .sequence = 6, .loss = sw::training_loss::fused, .loss_chunks = 4}) ==
          "model 'tiny': the loss of a sequence of 6 has no 4 equal chunks");
    CHECK(refusal({.batch = 2, .sequence = 6, .loss = sw::training_loss::fused, .loss_chunks = 0}) ==
          "model 'tiny': the loss of a sequence of 6 has no 0 equal chunks");
    CHECK(refusal({.batch = 2, .sequence = 6, .loss_chunks = 3}) == "model 'tiny': chunks are of a loss, found logits");
  }
}

}  // namespace llama_tests
