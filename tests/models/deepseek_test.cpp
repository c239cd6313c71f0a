#include "interpreter.hpp"
#include "model_checks.hpp"
#include "models/deepseek_figures.hpp"
#include "plain_model.hpp"
#include <shardweave/models/deepseek.hpp>
#include <shardweave/models/deepseek_config.hpp>

#include <doctest/doctest.h>
#include <support/scale.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

namespace deepseek_tests {
namespace {

using namespace deepseek_figures;
namespace sw = shardweave;

using plain_model::row;
using plain_model::times;
using plain_model::weights;

/// The forward pass again, token by token, straight from the report.
struct plain_deepseek {
  sw::deepseek_config c;
  std::size_t batch, sequence;
  row balance;
  std::vector<std::vector<std::size_t>> further = {};  // tokens of modules that predict further ones
  mutable std::size_t dropped = 0;
  mutable std::size_t left_groups = 0;

  [[nodiscard]] row norm(const row& x, const row& w) const { return plain_model::norm(x, w, c.rms_norm_eps); }
  void turn(row& x, std::size_t from, std::size_t position) const {
    for (std::int64_t j = 0; j < c.qk_rope_head_dim / 2; ++j)
      plain_model::turn(x, from + 2 * static_cast<std::size_t>(j),
                        static_cast<double>(position) * std::pow(100.0, -static_cast<double>(j) / 3));
  }

  using lookup = std::function<const row&(const char*)>;

  void attend(const lookup& of, std::vector<row>& x) const {
    const auto heads = static_cast<std::size_t>(c.num_attention_heads);
    const auto nope = static_cast<std::size_t>(c.qk_nope_head_dim), rope = static_cast<std::size_t>(c.qk_rope_head_dim);
    const auto wide = static_cast<std::size_t>(c.v_head_dim), latent = static_cast<std::size_t>(c.kv_lora_rank);
    const row &before = of("attention_norm"), &down_to = of("wkv_a"), &up_from = of("wkv_b"), &between = of("kv_norm"),
              &wo = of("wo");
    std::vector<row> q, kv, shared;
    for (std::size_t s = 0; s < sequence; ++s) {
      const row y = norm(x[s], before);
      q.push_back(c.q_lora_rank == 0 ? times(of("wq"), y)
                                     : times(of("wq_b"), norm(times(of("wq_a"), y), of("q_norm"))));
      for (std::size_t h = 0; h < heads; ++h) turn(q[s], h * (nope + rope) + nope, s);
      row down = times(down_to, y);
      turn(down, latent, s);
      shared.emplace_back(down.begin() + static_cast<std::ptrdiff_t>(latent), down.end());
      down.resize(latent);
      kv.push_back(times(up_from, norm(down, between)));
    }
    for (std::size_t s = 0; s < sequence; ++s) {
      row mixed(heads * wide);
      for (std::size_t h = 0; h < heads; ++h) {
        row score(s + 1);
        for (std::size_t t = 0; t <= s; ++t) {
          for (std::size_t i = 0; i < nope; ++i) score[t] += q[s][h * (nope + rope) + i] * kv[t][h * (nope + wide) + i];
          for (std::size_t i = 0; i < rope; ++i) score[t] += q[s][h * (nope + rope) + nope + i] * shared[t][i];
          score[t] = std::exp(score[t] / std::sqrt(static_cast<double>(nope + rope)));
        }
        const double total = std::accumulate(score.begin(), score.end(), 0.0);
        for (std::size_t t = 0; t <= s; ++t)
          for (std::size_t i = 0; i < wide; ++i)
            mixed[h * wide + i] += score[t] / total * kv[t][h * (nope + wide) + nope + i];
      }
      plain_model::add(x[s], times(wo, mixed));
    }
  }

  /// Zeros for the experts of all but the best groups.
  void leave_best_groups(row& ranked) const {
    if (c.n_group == 1) return;
    const std::size_t size = ranked.size() / static_cast<std::size_t>(c.n_group);
    std::vector<std::pair<double, std::size_t>> merits;
    for (std::size_t g = 0; g * size < ranked.size(); ++g) {
      row members(&ranked[g * size], &ranked[g * size] + size);
      std::ranges::sort(members, std::greater{});
      merits.emplace_back(members[0] + (c.merit == sw::group_merit::best_two ? members[1] : 0), g);
    }
    std::ranges::sort(merits, std::greater{});
    for (std::size_t i = static_cast<std::size_t>(c.topk_group); i < merits.size(); ++i) {
      std::fill_n(&ranked[merits[i].second * size], size, 0.0);
      ++left_groups;
    }
  }

  void mix(const lookup& of, std::vector<row>& x) const {
    const auto experts = static_cast<std::size_t>(c.n_routed_experts);
    const auto f = static_cast<std::size_t>(c.moe_intermediate_size);
    const row &before = of("ffn_norm"), &router = of("router"), &shared_w1 = of("shared.w1"),
              &shared_w2 = of("shared.w2"), &shared_w3 = of("shared.w3"), &w1 = of("experts.w1"),
              &w2 = of("experts.w2"), &w3 = of("experts.w3");
    std::vector<std::int64_t> taken(experts);
    for (row& token : x) {
      const row y = norm(token, before);
      row score = times(router, y);
      double total = 0;
      for (double& v : score) total += v = c.sigmoid_scores ? 1 / (1 + std::exp(-v)) : std::exp(v);
      if (!c.sigmoid_scores)
        for (double& v : score) v /= total;
      std::vector<std::size_t> order(experts);
      std::iota(order.begin(), order.end(), std::size_t{0});
      row ranked = score;
      plain_model::add(ranked, balance);
      leave_best_groups(ranked);
      std::ranges::sort(order, std::greater{}, [&](std::size_t e) { return ranked[e]; });
      order.resize(static_cast<std::size_t>(c.num_experts_per_tok));
      double kept = 0;
      for (const std::size_t e : order) kept += score[e];
      row out = plain_model::feed(shared_w1, shared_w2, shared_w3, y);
      for (const std::size_t e : order) {
        if (taken[e]++ >= c.capacity(static_cast<std::int64_t>(sequence))) {
          ++dropped;
          continue;
        }
        const std::size_t first = e * f * y.size();
        const row gate = plain_model::gated(times(w1, y, first, f, true), times(w3, y, first, f, true));
        const row made = times(w2, gate, first, y.size(), true);
        const double weight = c.routed_scaling_factor * score[e] / (c.norm_topk_prob ? kept : 1);
        for (std::size_t i = 0; i < out.size(); ++i) out[i] += weight * made[i];
      }
      plain_model::add(token, out);
    }
  }

  /// Logits [batch, sequence, vocabulary] of the model, then those of each module, flat.
  [[nodiscard]] row operator()(const weights& w, const std::vector<std::size_t>& tokens) const {
    const auto d = static_cast<std::size_t>(c.hidden_size);
    std::vector<row> logits(1 + further.size());
    const auto predict = [&](row& to, const std::vector<row>& x, const row& last) {
      for (const row& token : x) {
        const row out = times(w.at("output"), norm(token, last));
        to.insert(to.end(), out.begin(), out.end());
      }
    };
    dropped = 0;
    for (std::size_t b = 0; b < batch; ++b) {
      std::vector<row> x = plain_model::embedded(w.at("embedding"), d, tokens, b * sequence, sequence);
      for (std::int64_t l = 0; l < c.num_hidden_layers; ++l) {
        const bool dense = l < c.first_k_dense_replace;
        const lookup of = [&](const char* name) -> const row& {
          return w.at((dense ? "dense." : "layers.") + std::to_string(l) + "." + name);
        };
        attend(of, x);
        if (!dense) {
          mix(of, x);
          continue;
        }
        const row &w1 = of("w1"), &w2 = of("w2"), &w3 = of("w3"), &before = of("ffn_norm");
        for (row& token : x) plain_model::add(token, plain_model::feed(w1, w2, w3, norm(token, before)));
      }
      predict(logits[0], x, w.at("norm"));
      for (std::size_t m = 0; m < further.size(); ++m) {
        const lookup of = [&](const char* name) -> const row& {
          return w.at("further." + std::to_string(c.num_hidden_layers + static_cast<std::int64_t>(m)) + "." + name);
        };
        const auto next = plain_model::embedded(w.at("embedding"), d, further[m], b * sequence, sequence);
        for (std::size_t s = 0; s < sequence; ++s) {
          row both = norm(x[s], of("state_norm"));
          const row token = norm(next[s], of("token_norm"));
          both.insert(both.end(), token.begin(), token.end());
          x[s] = times(of("join"), both);
        }
        attend(of, x);
        mix(of, x);
        predict(logits[m + 1], x, of("norm"));
      }
    }
    row all;
    for (const row& part : logits) all.insert(all.end(), part.begin(), part.end());
    return all;
  }
};

}  // namespace

TEST_SUITE("deepseek_training_graph") {
  TEST_CASE("the graph grows by as much with every layer of a kind, and layers of a kind are alike") {
    const auto size = [](std::int64_t dense, std::int64_t sparse) {
      sw::deepseek_config c = tiny(true);
      c.first_k_dense_replace = dense;
      c.num_hidden_layers = dense + sparse;
      return static_cast<std::int64_t>(sw::deepseek_training_graph(c, {2, 4}).operations.size());
    };
    CHECK(size(1, 3) - size(1, 2) == size(1, 4) - size(1, 3));
    CHECK(size(3, 1) - size(2, 1) == size(2, 1) - size(1, 1));
    const sw::computation& graph = lite_graph();
    model_checks::check_order(graph);
    std::size_t repeated = 0;
    for (const auto& [site, members] : model_checks::checked_sites(graph)) repeated += members.size() >= 25 ? 1U : 0U;
    CHECK(repeated > 300);
  }

  TEST_CASE("executed, the graph gives the model's logits and the gradients that finite differences give") {
    for (const auto& [sigmoid, groups] : {std::pair{true, 1}, {false, 1}, {true, 2}, {false, 2}}) {
      CAPTURE(sigmoid);
      CAPTURE(groups);
      if (shardweave_test::is_small_scale && !sigmoid && groups > 1) continue;
      sw::deepseek_config config = tiny(sigmoid);
      config.n_group = groups;
      config.merit = sigmoid ? sw::group_merit::best_two : sw::group_merit::best;
      const sw::computation graph = sw::deepseek_training_graph(config, {2, 5});
      const std::vector<std::size_t> tokens{3, 1, 4, 1, 5, 8, 2, 6, 5, 3};
      auto [w, sources] = model_checks::draw(graph, groups == 1 ? 23 : 24, {2, 5}, tokens);
      interpreter::array rotations = interpreter::zeros({5, 1});
      for (std::size_t s = 0; s < 5; ++s) rotations.data[s] = std::polar(1.0, static_cast<double>(s));
      sources["rotations"] = std::move(rotations);

      const auto values = interpreter::run(graph, sources);
      const plain_deepseek model{config, 2, 5, sigmoid ? w.at("balance") : row(4)};
      const row logits = model(w, tokens);
      CHECK(model.dropped > 0);  // some tokens find an expert full
      CHECK((model.left_groups > 0) == (groups > 1));
      model_checks::check_logits(values[graph.results[0]].front(), logits);
      const auto errors =
          model_checks::compare_gradients(graph, values, w, shardweave_test::sized<std::size_t>(groups == 1 ? 2 : 7, 7),
                                          [&](const weights& at) { return model(at, tokens); });
      CHECK(errors.worst < 1e-6);
      for (const auto& [name, gradient] : errors.largest) CHECK_MESSAGE(gradient > 1e-3, name);
    }
  }

  TEST_CASE("executed, modules that predict further tokens give the model's logits and gradients") {
    sw::deepseek_config config = tiny(true);
    config.num_nextn_predict_layers = shardweave_test::sized<std::int64_t>(2, 1);
    const sw::computation graph = sw::deepseek_training_graph(config, {1, 4});
    const std::vector<std::size_t> text{3, 1, 4, 1, 5, 8};
    const auto from = [&](std::size_t first) { return std::vector<std::size_t>(&text[first], &text[first] + 4); };
    auto [w, sources] = model_checks::draw(graph, 23, {1, 4}, from(0));
    plain_deepseek model{config, 1, 4, w.at("balance")};
    row tangents = w.at("tangent.0");
    for (std::int64_t m = 1; m <= config.num_nextn_predict_layers; ++m) {
      model.further.push_back(from(static_cast<std::size_t>(m)));
      interpreter::array tokens = interpreter::zeros({1, 4});
      std::ranges::copy(model.further.back(), tokens.data.begin());
      sources["tokens." + std::to_string(m)] = std::move(tokens);
      const row& more = w.at("tangent." + std::to_string(m));
      tangents.insert(tangents.end(), more.begin(), more.end());
    }
    w["tangent"] = tangents;
    interpreter::array rotations = interpreter::zeros({4, 1});
    for (std::size_t s = 0; s < 4; ++s) rotations.data[s] = std::polar(1.0, static_cast<double>(s));
    sources["rotations"] = std::move(rotations);

    const auto values = interpreter::run(graph, sources);
    interpreter::array found;
    for (std::size_t m = 0; m <= model.further.size(); ++m) {
      const auto& part = values[graph.results[m]].front().data;
      found.data.insert(found.data.end(), part.begin(), part.end());
    }
    model_checks::check_logits(found, model(w, from(0)));
    const auto errors =
        model_checks::compare_gradients(graph, values, w, 23, [&](const weights& at) { return model(at, from(0)); });
    CHECK(errors.worst < 1e-6);
    CHECK(errors.largest.at("further.2.join") > 1e-2);  // otherwise nothing was compared
    CHECK(errors.largest.at("embedding") > 1e-2);
  }
}

}  // namespace deepseek_tests
