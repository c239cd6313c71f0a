#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/placement/savings_terms.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <utility>
#include <vector>

/// \file
/// Lower bounds by multi-objective dynamic programming over several cuts of the savings.

namespace shardweave::inline v0::detail {

/// Pareto-optimal labelings with respect to the costs under several prices.
struct front_of_labelings {
  bool is_complete = false;  ///< false: a limit on the work was reached, and the other members are empty
  double bound = -std::numeric_limits<double>::infinity();  ///< lower bound on costs less savings of every labeling
  std::vector<std::vector<strategy>> labelings = {};        ///< those with a bound below the target, by ascending bound
};

/// For any cut (chain prices), the priced cost of a labeling is at most its cost less savings. So the maximum over
/// several cuts bounds it from below, and more tightly than any mixture of cuts, which bounds the average: where two
/// cuts have equal weight, the best mixture combines labelings each of which is bad at one of them. The dynamic program
/// carries the costs under all cuts: variable by variable, it keeps a partial labeling unless another one with the same
/// labels of open variables is no worse under every cut, or unless its cost and the least remaining cost reach the
/// target under some cut.
///
/// Rows are ignored, which leaves the bound valid. Source: multi-objective dynamic programming with bounds, as of
/// shortest paths under resource limits (J. Beasley and N. Christofides, 1989).
template <cost_value Cost>
class cut_front {
 public:
  /// Limits on the work.
  std::size_t most_entries =
      400000;                        ///< over all layers: labelings of open variables times labels of the next variable
  std::size_t most_partial = 30000;  ///< partial labelings per layer
  std::size_t most_compared = 100;   ///< partial labelings that each one is compared with

  double coarseness = 0;  ///< costs that differ by no more count as equal: less work, weaker bound

  /// \pre `p` and `terms` outlive this object
  cut_front(const compact_problem<Cost>& p, const savings_terms<Cost>& terms) : p_(&p), t_(&terms) {}

  /// Chooses the order of the variables. \returns whether the layers are small enough
  [[nodiscard]] bool prepare() {
    layers_.clear();
    const std::size_t n = p_->size();
    const std::vector<std::vector<std::uint32_t>> near = neighbours();
    std::vector<std::size_t> left(n);  // neighbours that are not in the order yet
    std::vector<char> placed(n);
    for (std::size_t x = 0; x < n; ++x) left[x] = near[x].size();
    std::vector<std::uint32_t> open;
    std::size_t entries = 0;
    for (std::size_t i = 0; i < n; ++i) {
      // the variable after which the open variables have the fewest joint labelings
      std::size_t next = n;
      double least = std::numeric_limits<double>::infinity();
      for (std::size_t x = 0; x < n; ++x) {
        if (placed[x] != 0) continue;
        double growth = left[x] > 0 ? std::log(static_cast<double>(p_->label_count(x))) : 0;
        bool is_near = false;
        for (const std::uint32_t y : near[x])
          if (placed[y] != 0) {
            is_near = true;
            if (left[y] == 1) growth -= std::log(static_cast<double>(p_->label_count(y)));
          }
        if (!is_near && !open.empty()) growth += 1e3;  // finish a component first
        if (growth < least) {
          least = growth;
          next = x;
        }
      }
      layer l;
      l.variable = static_cast<std::uint32_t>(next);
      l.before = open;
      placed[next] = 1;
      for (const std::uint32_t y : near[next]) --left[y];
      open.push_back(l.variable);
      std::erase_if(open, [&](std::uint32_t x) { return left[x] == 0; });
      l.after = open;
      l.states = 1;
      for (const std::uint32_t x : l.before) l.states *= p_->label_count(x);
      entries += l.states * p_->label_count(next);
      if (entries > most_entries) return false;
      layers_.push_back(std::move(l));
    }
    return true;
  }

  /// \param prices  each as `chain_prices::values`; under each the costs bound costs less savings from below
  /// \pre prepare() returned true
  [[nodiscard]] front_of_labelings find(const std::vector<std::vector<double>>& prices, double target,
                                        const deadline& limit) {
    price(prices);
    bound_rest();
    return walk(target, limit);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  struct layer {
    std::uint32_t variable = 0;
    std::vector<std::uint32_t> before = {}, after = {};  ///< open variables
    std::size_t states = 1;                              ///< labelings of `before`
    std::vector<std::uint32_t> next = {};                ///< labelings of `before`, numbered in mixed radix
    std::vector<double> cost = {};                       ///< per state and label, one per price
    std::vector<double> rest = {};                       ///< per state: the least remaining cost, per price
  };
  /// A partial labeling; its costs are stored apart.
  struct partial {
    std::uint32_t parent = 0;
    strategy label = 0;
  };

  /// Variables that share costs or savings with each variable. Savings may join variables without an edge, where the
  /// rest of an edge's cost made its costs constant.
  [[nodiscard]] std::vector<std::vector<std::uint32_t>> neighbours() const {
    std::vector<std::vector<std::uint32_t>> near(p_->size());
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (const compact_link& link : p_->links(x)) near[x].push_back(link.other);
    for (const auto& t : t_->joint) {
      near[t.first].push_back(t.second);
      near[t.second].push_back(t.first);
    }
    for (auto& of_variable : near) {
      std::sort(of_variable.begin(), of_variable.end());
      of_variable.erase(std::unique(of_variable.begin(), of_variable.end()), of_variable.end());
    }
    return near;
  }

  /// Computes the cost of every label, and of every pair of labels of an edge, under each price.
  void price(const std::vector<std::vector<double>>& prices) {
    width_ = prices.size();
    constant_.assign(width_, in_double(p_->constant()));
    unary_.assign(p_->total_labels() * width_, 0.0);
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (strategy l = 0; l < p_->label_count(x); ++l)
        std::fill_n(unary_.data() + (p_->label_start(x) + l) * width_, width_, in_double(p_->unary(x)[l]));
    pairs_.clear();
    for (const compact_edge& e : p_->edges()) {
      auto& costs = pair(e.first, e.second);
      const auto& table = p_->table(e);
      for (strategy a = 0; a < p_->label_count(e.first); ++a)
        for (strategy b = 0; b < p_->label_count(e.second); ++b)
          for (std::size_t k = 0; k < width_; ++k)
            costs[(a * p_->label_count(e.second) + b) * width_ + k] += in_double(table(a, b));
    }
    chain_prices<Cost> chain(*t_);
    for (std::size_t k = 0; k < width_; ++k) {
      chain.values() = prices[k];
      chain.update();
      for (std::size_t q = 0; q < t_->slots(); ++q)
        constant_[k] -= chain.worth(q) * static_cast<double>(t_->computation[q]);
      for (std::size_t d = 0; d < t_->demands.size(); ++d)
        constant_[k] -= chain.saved(d) * static_cast<double>(t_->amount[d]);
      const auto take = [&](const label_amount<Cost>& t, double worth) {
        for (std::size_t l = 0; l < t.amount.size(); ++l)
          unary_[(p_->label_start(t.variable) + l) * width_ + k] -= worth * static_cast<double>(t.amount[l]);
      };
      for (const auto& t : t_->offers) take(t, chain.worth(t.at));
      for (const auto& t : t_->own) take(t, chain.saved(t.at));
      for (const auto& t : t_->joint) {
        auto& costs = pair(t.first, t.second);
        const double worth = t.count * chain.saved(t.demand);
        for (strategy a = 0; a < p_->label_count(t.first); ++a)
          for (strategy b = 0; b < p_->label_count(t.second); ++b)
            costs[(a * p_->label_count(t.second) + b) * width_ + k] -=
                worth * static_cast<double>((*t_->tables[t.table])(a, b));
      }
    }
  }
  std::vector<double>& pair(std::uint32_t a, std::uint32_t b) {
    auto& costs = pairs_[{a, b}];
    costs.resize(p_->label_count(a) * p_->label_count(b) * width_);
    return costs;
  }

  /// Computes the costs of steps, and backward over the layers the least remaining costs.
  void bound_rest() {
    std::vector<double> after(width_, 0.0);
    std::vector<std::uint32_t> digits;
    for (std::size_t i = layers_.size(); i-- > 0;) {
      layer& l = layers_[i];
      const std::size_t labels = p_->label_count(l.variable);
      l.next.assign(l.states * labels, 0);
      l.cost.assign(l.states * labels * width_, 0.0);
      l.rest.assign(l.states * width_, infinity);
      std::vector<std::pair<std::size_t, const std::vector<double>*>> near;  // place in `before`, costs
      std::vector<char> turned;
      for (std::size_t j = 0; j < l.before.size(); ++j) {
        const std::uint32_t y = l.before[j];
        const auto at = pairs_.find({std::min(y, l.variable), std::max(y, l.variable)});
        if (at == pairs_.end()) continue;
        near.emplace_back(j, &at->second);
        turned.push_back(l.variable < y ? 1 : 0);
      }
      digits.assign(l.before.size() + 1, 0);
      std::vector<std::size_t> place;  // of every variable in `after`, that in digits
      for (const std::uint32_t y : l.after)
        place.push_back(static_cast<std::size_t>(std::find(l.before.begin(), l.before.end(), y) - l.before.begin()));
      for (std::size_t s = 0; s < l.states; ++s) {
        std::size_t rest = s;
        for (std::size_t j = l.before.size(); j-- > 0;) {
          digits[j] = static_cast<std::uint32_t>(rest % p_->label_count(l.before[j]));
          rest /= p_->label_count(l.before[j]);
        }
        for (std::uint32_t a = 0; a < labels; ++a) {
          digits.back() = a;
          std::size_t to = 0;
          for (std::size_t j = 0; j < l.after.size(); ++j) to = to * p_->label_count(l.after[j]) + digits[place[j]];
          l.next[s * labels + a] = static_cast<std::uint32_t>(to);
          double* cost = l.cost.data() + (s * labels + a) * width_;
          const double* own = unary_.data() + (p_->label_start(l.variable) + a) * width_;
          for (std::size_t k = 0; k < width_; ++k) cost[k] = own[k];
          for (std::size_t j = 0; j < near.size(); ++j) {
            const std::uint32_t b = digits[near[j].first];
            const std::size_t row = turned[j] != 0 ? a * p_->label_count(l.before[near[j].first]) + b : b * labels + a;
            const double* of_pair = near[j].second->data() + row * width_;
            for (std::size_t k = 0; k < width_; ++k) cost[k] += of_pair[k];
          }
          for (std::size_t k = 0; k < width_; ++k)
            l.rest[s * width_ + k] = std::min(l.rest[s * width_ + k], cost[k] + after[to * width_ + k]);
        }
      }
      after = l.rest;
    }
  }

  front_of_labelings walk(double target, const deadline& limit) {
    front_of_labelings result;
    const double even = std::max(coarseness, 1e-12 * (std::abs(target) + 1));  // equal sums may differ by rounding
    std::vector<std::vector<partial>> kept(layers_.size() + 1);
    std::vector<double> costs(constant_);  // of the kept ones of the last layer
    std::vector<std::uint32_t> state{0};
    kept[0].push_back({});
    for (std::size_t i = 0; i < layers_.size(); ++i) {
      const layer& l = layers_[i];
      const std::size_t labels = p_->label_count(l.variable);
      const double* rest = i + 1 < layers_.size() ? layers_[i + 1].rest.data() : nullptr;
      std::vector<partial> grown;
      std::vector<double> grown_costs;
      std::vector<std::uint32_t> grown_state;
      for (std::uint32_t j = 0; j < kept[i].size(); ++j)
        for (std::uint32_t a = 0; a < labels; ++a) {
          const std::size_t at = state[j] * labels + a;
          const std::uint32_t to = l.next[at];
          bool is_good = true;
          for (std::size_t k = 0; k < width_ && is_good; ++k)
            is_good = costs[j * width_ + k] + l.cost[at * width_ + k] + (rest != nullptr ? rest[to * width_ + k] : 0) <
                      target;
          if (!is_good) continue;
          for (std::size_t k = 0; k < width_; ++k)
            grown_costs.push_back(costs[j * width_ + k] + l.cost[at * width_ + k]);
          grown.push_back({j, static_cast<strategy>(a)});
          grown_state.push_back(to);
        }
      if (grown.size() > 40 * most_partial || limit.expired()) return result;
      std::vector<std::uint32_t> order(grown.size());
      for (std::uint32_t j = 0; j < order.size(); ++j) order[j] = j;
      std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
        if (grown_state[a] != grown_state[b]) return grown_state[a] < grown_state[b];
        const double *x = grown_costs.data() + a * width_, *y = grown_costs.data() + b * width_;
        for (std::size_t k = 0; k < width_; ++k)
          if (x[k] != y[k]) return x[k] < y[k];
        return a < b;
      });
      std::vector<double> next_costs;
      std::vector<std::uint32_t> next_state;
      std::size_t first = 0;  // the first kept one of the same state
      for (const std::uint32_t j : order) {
        if (next_state.empty() || next_state.back() != grown_state[j]) first = next_state.size();
        const double* own = grown_costs.data() + j * width_;
        bool is_beaten = false;
        const std::size_t oldest = std::max(first, next_state.size() - std::min(next_state.size(), most_compared));
        for (std::size_t m = next_state.size(); m-- > oldest && !is_beaten;) {
          is_beaten = true;
          const double* other = next_costs.data() + m * width_;
          for (std::size_t k = 1; k < width_ && is_beaten; ++k) is_beaten = other[k] <= own[k] + even;
        }
        if (is_beaten) continue;
        next_costs.insert(next_costs.end(), own, own + width_);
        next_state.push_back(grown_state[j]);
        kept[i + 1].push_back(grown[j]);
        if (next_state.size() > most_partial) return result;
      }
      costs = std::move(next_costs);
      state = std::move(next_state);
    }
    result.is_complete = true;
    result.bound = target;
    std::vector<std::pair<double, std::uint32_t>> ends;
    for (std::uint32_t j = 0; j < kept.back().size(); ++j)
      ends.emplace_back(*std::max_element(costs.begin() + static_cast<std::ptrdiff_t>(j * width_),
                                          costs.begin() + static_cast<std::ptrdiff_t>((j + 1) * width_)),
                        j);
    std::sort(ends.begin(), ends.end());
    if (!ends.empty()) result.bound = std::min(target, ends.front().first);
    result.bound -= static_cast<double>(layers_.size()) * even;
    for (const auto& [value, j] : ends) {
      auto& labels = result.labelings.emplace_back(p_->size());
      std::uint32_t at = j;
      for (std::size_t i = layers_.size(); i-- > 0;) {
        labels[layers_[i].variable] = kept[i + 1][at].label;
        at = kept[i + 1][at].parent;
      }
    }
    return result;
  }

  const compact_problem<Cost>* p_;
  const savings_terms<Cost>* t_;
  std::vector<layer> layers_;
  std::size_t width_ = 0;
  std::vector<double> constant_, unary_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<double>> pairs_;
};

/// Finds the Pareto-optimal labelings for the best prices and the heaviest cuts of an ascent.
///
/// \param upper  cost that useful labelings are below; called again after every offer
/// \param offer  called with each labeling
/// \param share  of the gap between bound and `upper` that counts as equal: 0 for a bound, more to find labelings only
/// \returns a lower bound; nothing if the work exceeds the limits
template <cost_value Cost, class Upper, class Offer>
std::optional<double> front_bound(const compact_problem<Cost>& p, const savings_terms<Cost>& terms,
                                  const savings_ascent<Cost>& ascent, double share, const deadline& limit,
                                  const Upper& upper, const Offer& offer) {
  constexpr std::size_t most_cuts = 5, most_offers = 20;  // without either nothing is found, with more no more
  cut_front<Cost> front(p, terms);
  if (!front.prepare()) return std::nullopt;
  std::vector<std::vector<double>> prices{ascent.best_chain()};
  for (const auto& cut : ascent.cuts())
    if (prices.size() <= most_cuts) prices.push_back(cut->price);
  if (share > 0) front.coarseness = share * std::max(0.0, upper() - ascent.bound());
  const front_of_labelings found = front.find(prices, upper(), limit);
  if (!found.is_complete) return std::nullopt;
  for (std::size_t i = 0; i < std::min(found.labelings.size(), most_offers); ++i) offer(found.labelings[i]);
  return found.bound;
}

}  // namespace shardweave::inline v0::detail
