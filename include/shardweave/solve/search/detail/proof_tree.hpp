#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/overlap/prices.hpp>
#include <shardweave/placement/constraints.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/priced_savings.hpp>
#include <shardweave/placement/restrict.hpp>
#include <shardweave/solve/bound/chain_prices.hpp>
#include <shardweave/solve/bound/detail/ascent_memory.hpp>
#include <shardweave/solve/bound/dual_bound.hpp>
#include <shardweave/solve/bound/price_ascent.hpp>
#include <shardweave/solve/bound/priced_problem.hpp>
#include <shardweave/solve/bound/savings_ascent.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/search/detail/split.hpp>
#include <shardweave/solve/search/detail/stated_multipliers.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <queue>
#include <span>
#include <utility>
#include <vector>

/// \file
/// A search for a proof: branch and bound of which every step can be written down.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// What multipliers say of a problem: the sum of `apart` and of the least belief of each variable bounds it.
struct label_beliefs {
  double bound = 0;
  std::vector<double> excess;  ///< per label of all variables: what its belief is above the least of its variable
};

/// Complexity: O(labels * degree + pairs of classes + labels * rows)
template <cost_value Cost>
[[nodiscard]] label_beliefs beliefs_by(const compact_problem<Cost>& p, const dual_values& dual) {
  label_beliefs result{static_cast<double>(p.constant()), std::vector<double>(p.total_labels())};
  std::vector<double>& belief = result.excess;
  std::vector<double> before(p.rows().size() + 1);  // prices of the rows before each
  for (std::size_t r = 0; r < p.rows().size(); ++r) {
    const double price = dual.of_row[r];
    const bool counts = price != 0 && std::isfinite(price > 0 ? p.rows()[r].high : p.rows()[r].low);
    before[r + 1] = before[r] + (counts ? price : 0);
    if (counts) result.bound -= price * (price > 0 ? p.rows()[r].high : p.rows()[r].low) + std::abs(price) * 0x1p-18;
  }
  for (std::size_t x = 0; x < p.size(); ++x) {
    double* of = belief.data() + p.label_start(x);
    for (std::size_t l = 0; l < p.label_count(x); ++l) of[l] = static_cast<double>(p.unary(x)[l]);
    for (const usage_segment& s : p.segments(x))
      for (std::size_t l = 0; l < p.label_count(x); ++l) of[l] += (before[s.end] - before[s.begin]) * s.usage[l];
  }
  const std::vector<std::size_t> offsets = dual_offsets(p);
  for (std::size_t e = 0; e < p.edges().size(); ++e) {
    const compact_edge& edge = p.edges()[e];
    const auto& t = p.table(edge);
    const double* given = dual.of_class.data() + offsets[e] + t.row_classes();
    for (strategy l = 0; l < t.columns(); ++l) belief[p.label_start(edge.second) + l] -= given[t.column_class(l)];
    std::vector<double> rest(t.row_classes(), std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < t.row_classes(); ++i)
      for (std::size_t j = 0; j < t.column_classes(); ++j)
        if (!is_forbidden(t.class_cost(i, j)))
          rest[i] = std::min(rest[i], static_cast<double>(t.class_cost(i, j)) + given[j]);
    for (strategy l = 0; l < t.rows(); ++l) belief[p.label_start(edge.first) + l] += rest[t.row_class(l)];
  }
  for (std::size_t x = 0; x < p.size(); ++x) {
    const auto of = std::span(belief).subspan(p.label_start(x), p.label_count(x));
    const double least = *std::min_element(of.begin(), of.end());
    result.bound += least;
    for (double& b : of) b -= least;
  }
  return result;
}

/// How long a proof is looked for.
struct proof_effort {
  std::size_t root_steps = 1000;  ///< of the ascent, before labels are dropped
  std::size_t node_steps = 200;   ///< of the ascent, elsewhere
  std::size_t nodes = 2000;       ///< at most
  std::size_t price_steps = 200;  ///< of the prices of savings, at the root; a sixth elsewhere
};

/// Chain prices in whole numbers, in words of the problem as it is stated: those of slots become those of positions.
class stated_prices {
 public:
  /// \pre the problem is the compiled one of a description, which `layout` is of
  template <cost_value Cost>
  stated_prices(const savings_layout& layout, std::size_t channels, const placement_problem<Cost>& problem)
      : number_of_(channels, none) {
    const savings_terms<Cost>* terms = problem.savings();
    if (terms != nullptr) {
      slots_ = terms->slots();
      for (std::uint32_t c = 0; c < terms->channels; ++c) number_of_[terms->channel_of[c]] = c;
    }
    for (const std::uint32_t v : layout.order) {
      const std::uint32_t x = problem.variable_of(v);
      bool computes = false;
      for (strategy l = 0; l < problem.compact().label_count(x) && !layout.idle[v]; ++l)
        computes =
            computes || amount_of(problem.description()->vertices[v].compute[problem.strategy_of(x, l)]) > Cost{};
      slot_at_.push_back(!computes ? idle : terms != nullptr ? terms->slot_of[v] : none);
    }
  }

  /// Rounds the prices.
  [[nodiscard]] savings_prices operator()(std::vector<double>& chain) const {
    constexpr std::int64_t one = std::int64_t{1} << bits;
    savings_prices result{.bits = bits};
    for (std::uint32_t c = 0; c < number_of_.size(); ++c) {
      std::vector<std::int64_t> whole(slots_);
      for (std::size_t s = 0; s < slots_ && number_of_[c] != none; ++s) {
        double& price = chain[number_of_[c] * slots_ + s];
        whole[s] = std::clamp<std::int64_t>(rounded_down(price, bits), 0, one);
        price = std::ldexp(static_cast<double>(whole[s]), -bits);
      }
      std::int64_t before = 0;
      for (std::uint32_t q = 0; q < slot_at_.size(); ++q) {
        // what computes with no label that is left is worth most, so that it is the least of no window
        const std::int64_t here = slot_at_[q] == idle ? one : slot_at_[q] == none ? 0 : whole[slot_at_[q]];
        if (here != before) result.runs.push_back({c, q, here});
        before = here;
      }
    }
    return result;
  }

 private:
  static constexpr int bits = 20;
  static constexpr std::uint32_t none = ~0U, idle = ~0U - 1;
  std::size_t slots_ = 0;
  std::vector<std::uint32_t> number_of_;  ///< per channel of the layout, its number among those of the chain
  std::vector<std::uint32_t> slot_at_;    ///< per position
};

/// Branch and bound for a proof and for nothing else: an assignment is given, and what costs no less than it need not
/// be looked at. At every node the bound of `price_ascent` is raised and labels are dropped that its multipliers show
/// to be no better; what is left is split in two as `branch_and_bound` does it, the node of least bound first. Nothing
/// is reduced: all that a node rests on can be said in words of the problem as it is stated. Where savings count,
/// prices are found first that make a plain problem of the node's (`savings_ascent`), and it is split as `overlapped`
/// does it.
template <cost_value Cost>
class proof_tree {
 public:
  /// \param p     the problem's, perhaps with other costs; then no savings count
  /// \param best  its objective, if one is known, ends what costs no less
  /// \pre all outlive this object
  proof_tree(const placement_problem<Cost>& problem, const compact_problem<Cost>& p,
             const stated_multipliers<Cost>& in_stated, const incumbent<Cost>& best, const deadline& limit,
             const proof_effort& effort)
      : problem_(&problem), p_(&p), in_stated_(&in_stated), best_(&best), limit_(&limit), effort_(effort) {
    multipliers_.emplace_back();
    if (counts()) {
      priced_.emplace(*problem.description());
      in_positions_.emplace(priced_->layout(), priced_->channels(), problem);
      std::vector<double> nothing(saves() ? problem.savings()->channels * problem.savings()->slots() : 0);
      savings_.push_back((*in_positions_)(nothing));
      multipliers_.back().savings = 0;
    }
    nodes_.push_back({});
    open_.push({-infinity, 0, std::make_shared<open_node>(open_node{std::vector<char>(p.total_labels(), 1), {}})});
  }

  /// Works until all is proven, or for as long as it may.
  void grow() {
    while (!open_.empty() && (nodes_.size() == 1 || (nodes_.size() < effort_.nodes && !limit_->expired()))) {
      const waiting next = open_.top();
      if (closes(next.bound) || next.bound >= weakest_) break;
      open_.pop();
      expand(next.number, *next.state);
    }
  }
  /// What the search believes to have proven; the certificate says what it has.
  [[nodiscard]] double bound() const {
    return open_.empty() ? std::min(weakest_, target()) : std::min(weakest_, open_.top().bound);
  }
  /// The bound at which everything is proven. Of floating costs a little below that of the best assignment, but proof
  /// enough.
  [[nodiscard]] Cost claim() const {
    if constexpr (std::floating_point<Cost>) {
      return static_cast<Cost>(best_->upper() - 0.9 * optimality_tolerance * std::max(1.0, std::abs(best_->upper())));
    } else {
      return best_->cost();
    }
  }
  /// Adds multipliers and cases.
  void write(placement_certificate<Cost>& c) const {
    std::vector<std::uint32_t> number_of(multipliers_.size(), ~0U);
    write(c, 0, number_of);
    add_savings(c);
  }

  /// Adds one case that bounds everything.
  void write_root(placement_certificate<Cost>& c) const {
    const placement_multipliers& of_root = multipliers_[nodes_.front().multipliers];
    c.multipliers.push_back(of_root.only_limits ? multipliers_.front() : of_root);
    c.cases.push_back({.multipliers = 0});
    add_savings(c);
  }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double worthwhile = 0.02;  ///< share of labels that must go for another round
  static constexpr double least_gain = 2e-6;  ///< relative rise of the bound in a while that is worth going on for

  /// What a node has become, and what bounds it: its own multipliers, or those of one above.
  struct node {
    std::uint32_t multipliers = 0;
    std::vector<std::uint32_t> children = {};  ///< none of a leaf, one where labels were dropped, two of a split
    std::uint32_t variable = 0;
    std::array<std::vector<strategy>, 2> halves = {};
  };
  /// Of an ascent with savings.
  struct savings_memory {
    std::vector<typename savings_ascent<Cost>::cut_pointer> cuts;
    std::vector<double> chain;
    known_prices rows;
  };
  struct open_node {
    std::vector<char> allowed;  ///< per label of all variables
    std::shared_ptr<const ascent_memory> known;
    std::shared_ptr<const savings_memory> prices = {};
  };
  /// What bounds the problem of a node, for whoever works on it next, and where it is best split.
  struct relaxation {
    label_beliefs beliefs;
    open_node next;
    std::function<two_way_split()> split;
  };
  struct waiting {
    double bound;
    std::uint32_t number;
    std::shared_ptr<open_node> state;
    [[nodiscard]] friend bool operator<(const waiting& a, const waiting& b) {
      return a.bound != b.bound ? a.bound > b.bound : a.number > b.number;
    }
  };

  /// From where on a bound, which may be a little off, is proof.
  [[nodiscard]] double target() const {
    if constexpr (std::floating_point<Cost>) {
      return best_->settled();
    } else {
      return best_->upper() - 1 + std::max(1e-6, 1e-12 * std::abs(best_->upper()));
    }
  }
  [[nodiscard]] bool closes(double bound) const { return bound >= target(); }

  [[nodiscard]] bool saves() const { return problem_->savings() != nullptr; }
  [[nodiscard]] bool counts() const { return problem_->description()->counted != savings_form::off; }

  void expand(std::uint32_t number, const open_node& here) {
    restriction<Cost> part(*p_);
    part.forbid_if([&](std::size_t label) { return here.allowed[label] == 0; });
    if (saves()) part.with_savings(*problem_->savings());
    const auto rest = part.build();
    if (!rest) return refute(number, here.allowed);
    const compact_problem<Cost>& p = rest->problem.compact();
    variable_origin origin;
    for (const std::uint32_t x : rest->open) origin.emplace_back(x, rest->kept[x]);
    relaxation found = saves() ? with_savings(*rest, origin, here) : without_savings(*rest, origin, here);
    nodes_[number].multipliers = static_cast<std::uint32_t>(multipliers_.size() - 1);
    const label_beliefs& beliefs = found.beliefs;
    if (closes(beliefs.bound) || p.size() == 0) return close(beliefs.bound);

    std::vector<char>& allowed = found.next.allowed;
    allowed.resize(p_->total_labels());
    for (std::uint32_t x = 0; x < rest->kept.size(); ++x)
      for (const strategy l : rest->kept[x]) allowed[p_->label_start(x) + l] = 1;
    std::vector<std::size_t> closed;  // positions among all labels
    for (std::size_t x = 0; x < p.size(); ++x)
      for (strategy l = 0; l < p.label_count(x); ++l)
        if (closes(beliefs.bound + beliefs.excess[p.label_start(x) + l]))
          closed.push_back(p_->label_start(origin[x].first) + origin[x].second[l]);
    if (!closed.empty() && static_cast<double>(closed.size()) >= worthwhile * static_cast<double>(p.total_labels())) {
      for (const std::size_t label : closed) allowed[label] = 0;
      return add(number, beliefs.bound, std::move(found.next));
    }

    const two_way_split chosen = found.split();
    const auto& [x, labels] = origin[chosen.variable];
    nodes_[number].variable = x;
    for (std::size_t i = 0; i < chosen.halves.size(); ++i) {
      open_node half = found.next;
      for (strategy l = 0; l < p_->label_count(x); ++l) half.allowed[p_->label_start(x) + l] = 0;
      double bound = infinity;
      for (const strategy l : chosen.halves[i]) {
        half.allowed[p_->label_start(x) + labels[l]] = 1;
        nodes_[number].halves[i].push_back(labels[l]);
        bound = std::min(bound, beliefs.bound + beliefs.excess[p.label_start(chosen.variable) + l]);
      }
      add(number, bound, std::move(half));
    }
  }

  [[nodiscard]] relaxation without_savings(const restricted_problem<Cost>& rest, const variable_origin& origin,
                                           const open_node& here) {
    const compact_problem<Cost>& p = rest.problem.compact();
    auto ascent = std::make_shared<price_ascent<Cost>>(p);
    if (here.known) ascent->start(*here.known, origin, 0);
    climb(*ascent, p, nodes_.size() == 1 ? effort_.root_steps : effort_.node_steps);
    relaxation found = bounded(p, *ascent, *in_stated_, rest, origin);
    if (counts()) multipliers_.back().savings = 0;
    found.split = [this, &p, ascent] {
      const std::vector<double> least = ascent->label_bounds();
      return split_by_usage(p, ascent->prices(), std::span<const double>(least), near(least));
    };
    return found;
  }

  /// Prices of savings first, then messages and prices on rows for the plain problem that they make.
  [[nodiscard]] relaxation with_savings(const restricted_problem<Cost>& rest, const variable_origin& origin,
                                        const open_node& here) {
    const compact_problem<Cost>& p = rest.problem.compact();
    const savings_terms<Cost>& terms = *rest.problem.savings();
    std::shared_ptr<savings_ascent<Cost>> prices;
    std::vector<double> chain;
    if (p.size() == 0) {
      chain = prices_of_what_is_decided(terms);
    } else {
      prices = std::make_shared<savings_ascent<Cost>>(
          p, terms, savings_ascent_options{},
          here.prices ? here.prices->cuts : std::vector<typename savings_ascent<Cost>::cut_pointer>{});
      if (here.prices) {
        prices->start(here.prices->chain);
        prices->start_rows(here.prices->rows.for_rows_of(p));
      }
      const std::size_t most = nodes_.size() == 1 ? effort_.price_steps : effort_.price_steps / 6;
      for (std::size_t i = 0; i < most && !limit_->expired(); ++i)
        if (!prices->step(best_->upper()) || closes(prices->bound())) break;
      if (prices->best_chain().empty()) prices->step(best_->upper());
      chain = prices->best_chain();
    }
    savings_.push_back((*in_positions_)(chain));
    chain_prices<Cost> rounded(terms);
    rounded.values() = chain;
    rounded.update();
    const compact_problem<double> plain = priced_problem<Cost>(p, terms).with_prices(rounded);
    price_ascent<double> ascent(plain);
    if (here.known) {
      ascent.start(*here.known, origin, 0);
    } else if (prices) {
      ascent.start(prices->best_rows());
    }
    climb(ascent, plain, effort_.node_steps);
    const costs_in_place<Cost> costs = priced_->costs_at(savings_.back());
    const stated_form<Cost> form(*problem_->description(), &costs);
    relaxation found = bounded(plain, ascent, stated_multipliers<Cost>(*problem_, form), rest, origin);
    multipliers_.back().savings = static_cast<std::uint32_t>(savings_.size() - 1);
    if (!prices) return found;
    found.next.prices = std::make_shared<const savings_memory>(
        savings_memory{prices->cuts(), chain, known_prices(p, std::span<const double>(prices->best_rows()))});
    found.split = [this, &p, &terms, prices] {
      const std::vector<double> least = prices->label_bounds();
      two_way_split chosen = split_by_mixture(p, terms, *prices, least, *best_);
      if (chosen.halves[0].empty() || chosen.halves[1].empty())
        chosen = split_by_usage(p, std::span<const double>(prices->best_rows()), std::span<const double>(least),
                                near(least));
      return chosen;
    };
    return found;
  }

  /// Adds the multipliers.
  template <cost_value C>
  [[nodiscard]] relaxation bounded(const compact_problem<C>& p, price_ascent<C>& ascent,
                                   const stated_multipliers<Cost>& in_stated, const restricted_problem<Cost>& rest,
                                   const variable_origin& origin) {
    dual_values dual = ascent.multipliers();
    if (p.size() == 0) dual.of_row.assign(p.rows().size(), 0.0);  // what is decided keeps the limits, prices or not
    const bool is_priced = &in_stated != in_stated_;
    multipliers_.push_back(in_stated(p, origin, rest.kept, dual, is_priced ? &rest.problem.compact() : nullptr,
                                     is_priced ? in_stated_ : nullptr));
    relaxation found;
    found.beliefs = beliefs_by(p, dual);
    if (p.size() > 0) found.next.known = std::make_shared<const ascent_memory>(ascent.memory(origin));
    return found;
  }

  [[nodiscard]] double near(const std::vector<double>& least) const {
    const double floor = *std::min_element(least.begin(), least.end());
    return best_->is_known() ? floor + 0.5 * (best_->upper() - floor) : infinity;
  }

  /// A least cut: at these prices what is decided saves no more than it does.
  [[nodiscard]] static std::vector<double> prices_of_what_is_decided(const savings_terms<Cost>& terms) {
    std::vector<hideable<double>> demands;
    for (std::size_t d = 0; d < terms.demands.size(); ++d)
      demands.push_back({terms.demands[d].where, static_cast<double>(terms.amount[d]), terms.demands[d].channel});
    const std::vector<double> offered(terms.computation.begin(), terms.computation.end());
    const hiding_prices best = best_prices(offered, demands);
    std::vector<double> chain(best.all().begin(), best.all().end());
    chain.resize(terms.channels * terms.slots());  // channels without demands
    return chain;
  }

  void add(std::uint32_t parent, double bound, open_node state) {
    const auto number = static_cast<std::uint32_t>(nodes_.size());
    nodes_[parent].children.push_back(number);
    nodes_.push_back({.multipliers = nodes_[parent].multipliers});
    if (closes(bound)) return close(bound);
    open_.push({bound, number, std::make_shared<open_node>(std::move(state))});
  }
  void close(double bound) { weakest_ = std::min(weakest_, bound); }

  /// Nothing is feasible: for want of partners, which a checker finds by itself, or by a row.
  void refute(std::uint32_t number, const std::vector<char>& allowed) {
    const stated_form<Cost>& form = in_stated_->form();
    kept_labels kept(p_->size());
    for (std::size_t x = 0; x < p_->size(); ++x)
      for (strategy l = 0; l < p_->label_count(x); ++l)
        if (allowed[p_->label_start(x) + l] != 0) kept[x].push_back(l);
    strategies_left left = in_stated_->left(kept);
    form.propagate(left);
    std::vector<double> least(p_->rows().size() + 1), most(least.size());
    for (std::uint32_t x = 0; x < p_->size(); ++x) {
      const auto& of_x = left[in_stated_->unknown(x)];
      for (const usage_segment& s : p_->segments(x)) {
        double low = infinity, high = -infinity;
        for (const strategy l : kept[x])
          if (of_x[in_stated_->stated(x, l)] != 0) {
            low = std::min(low, s.usage[l]);
            high = std::max(high, s.usage[l]);
          }
        if (low > high) return;
        least[s.begin] += low;
        least[s.end] -= low;
        most[s.begin] += high;
        most[s.end] -= high;
      }
    }
    std::pair<double, std::size_t> worst{0, p_->rows().size()};
    bool is_high = true;
    for (std::size_t r = 0; r < p_->rows().size(); ++r) {
      if (r > 0) {
        least[r] += least[r - 1];
        most[r] += most[r - 1];
      }
      const usage_row& row = p_->rows()[r];
      for (const bool high : {true, false})
        if (const double beyond = high ? least[r] - row.high : row.low - most[r]; beyond > worst.first) {
          worst = {beyond, r};
          is_high = high;
        }
    }
    if (worst.second == p_->rows().size()) return;
    const usage_row& row = p_->rows()[worst.second];
    nodes_[number].multipliers = static_cast<std::uint32_t>(multipliers_.size());
    multipliers_.push_back({.only_limits = true, .prices = {{row.budget, row.time, is_high ? 1 : -1}}});
  }

  template <cost_value C>
  void climb(price_ascent<C>& ascent, const compact_problem<C>& p, std::size_t most) const {
    double mark = -infinity;
    const std::size_t patience = std::min<std::size_t>(150, 20 + 2 * p.size());
    for (std::size_t i = 0; i < most && !limit_->expired(); ++i) {
      if (i % patience == 0) {
        if (ascent.bound() <= mark + least_gain * std::abs(mark)) return;
        mark = ascent.bound();
      }
      if (!ascent.step(best_->upper()) || closes(ascent.bound())) return;
    }
  }

  void write(placement_certificate<Cost>& c, std::uint32_t number, std::vector<std::uint32_t>& number_of) const {
    const node& from = nodes_[number];
    const std::size_t at = c.cases.size();
    c.cases.emplace_back();
    if (from.children.size() < 2) {
      std::uint32_t& known = number_of[from.multipliers];
      if (known == ~0U) {
        known = static_cast<std::uint32_t>(c.multipliers.size());
        c.multipliers.push_back(multipliers_[from.multipliers]);
      }
      c.cases[at].multipliers = known;
    } else {
      c.cases[at].vertex = in_stated_->vertex(from.variable);
    }
    for (std::size_t i = 0; i < from.children.size(); ++i) {
      c.cases[at].cases.push_back(static_cast<std::uint32_t>(c.cases.size()));
      if (from.children.size() == 2) {
        auto& part = c.cases[at].parts.emplace_back();
        for (const strategy l : from.halves[i]) part.push_back(in_stated_->stated(from.variable, l));
      }
      write(c, from.children[i], number_of);
    }
  }

  /// Those that multipliers name, by new numbers.
  void add_savings(placement_certificate<Cost>& c) const {
    std::vector<std::uint32_t> number_of(savings_.size(), ~0U);
    for (placement_multipliers& m : c.multipliers) {
      if (!m.savings) continue;
      std::uint32_t& number = number_of[*m.savings];
      if (number == ~0U) {
        number = static_cast<std::uint32_t>(c.savings.size());
        c.savings.push_back(savings_[*m.savings]);
      }
      m.savings = number;
    }
  }

  const placement_problem<Cost>* problem_;
  const compact_problem<Cost>* p_;
  const stated_multipliers<Cost>* in_stated_;
  const incumbent<Cost>* best_;
  const deadline* limit_;
  proof_effort effort_;
  std::optional<priced_savings<Cost>> priced_ = std::nullopt;  ///< where savings count
  std::optional<stated_prices> in_positions_ = std::nullopt;   ///< where something may be saved
  std::vector<savings_prices> savings_;
  std::vector<placement_multipliers> multipliers_;
  std::vector<node> nodes_;
  std::priority_queue<waiting> open_;
  double weakest_ = infinity;  ///< bound of what is closed
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
