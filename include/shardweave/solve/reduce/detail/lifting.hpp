#pragma once

#include <shardweave/placement/cost.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

/// \file
/// Maps solutions of a reduced problem back.

namespace shardweave::inline v0::detail {

/// How the labels of removed variables follow from the remaining ones. All labels are those that variables had
/// originally, so that records stay valid when more labels are removed.
class lifting {
 public:
  /// The label of `v` is a function of that of `u`.
  struct follow {
    std::uint32_t v, u;
    std::vector<strategy> image;  ///< per label of u
  };
  struct decided {
    std::uint32_t v;
    strategy label;
  };
  /// The label of `v` depends on the classes of the labels of `u` and `w`.
  struct choose_by_two {
    std::uint32_t v, u, w;
    std::vector<std::uint32_t> class_of_u, class_of_w;
    std::function<strategy(std::uint32_t, std::uint32_t)> best;  ///< for a class of u's labels and one of w's
  };

  // To be called in the order in which variables are removed.
  void add(const follow& f) {
    records_.push_back(followed{f.v, f.u, images_.size()});
    for (const strategy label : f.image) images_.push_back(label);
  }
  void add(const decided& d) { records_.push_back(d); }
  void add(choose_by_two c) {
    records_.push_back(chosen{choices_.size()});
    choices_.push_back(std::move(c));
  }
  /// A label of `v` that another one dominates; nothing follows from it.
  struct dominated {
    std::uint32_t v;
    strategy removed, by;
  };
  void add(const dominated& d) { records_.push_back(d); }
  /// Adds the next variable of the reduced problem: its original number and labels.
  void keep(std::uint32_t x, std::vector<strategy> origin) { kept_.emplace_back(x, std::move(origin)); }

  [[nodiscard]] std::span<const std::pair<std::uint32_t, std::vector<strategy>>> kept() const { return kept_; }

  /// A variable that was removed, or a label of one that another label dominates.
  struct step {
    /// The variable, with those that its label follows from: none, one or two; of a label its variable alone.
    std::vector<std::uint32_t> variables = {};
    struct label {
      strategy removed = 0, by = 0;
    };
    std::optional<label> dominated = std::nullopt;
  };
  /// What was added, in order.
  [[nodiscard]] std::vector<step> steps() const {
    std::vector<step> all;
    for (const auto& r : records_) {
      if (const auto* f = std::get_if<followed>(&r)) {
        all.push_back({.variables = {f->v, f->u}});
      } else if (const auto* d = std::get_if<decided>(&r)) {
        all.push_back({.variables = {d->v}});
      } else if (const auto* at = std::get_if<chosen>(&r)) {
        const choose_by_two& c = choices_[at->number];
        all.push_back({.variables = {c.v, c.u, c.w}});
      } else if (const auto* l = std::get_if<dominated>(&r)) {
        all.push_back({.variables = {l->v}, .dominated = step::label{l->removed, l->by}});
      }
    }
    return all;
  }

  /// The original labels of all `variables` that correspond to labels of the reduced problem.
  /// Complexity: O(variables)
  [[nodiscard]] std::vector<strategy> lift(std::size_t variables, std::span<const strategy> labels) const {
    std::vector<strategy> result(variables);
    for (std::size_t i = 0; i < kept_.size(); ++i) result[kept_[i].first] = kept_[i].second[labels[i]];
    for (auto r = records_.rbegin(); r != records_.rend(); ++r) {
      if (const auto* f = std::get_if<followed>(&*r)) {
        result[f->v] = images_[f->image + result[f->u]];
      } else if (const auto* d = std::get_if<decided>(&*r)) {
        result[d->v] = d->label;
      } else if (const auto* at = std::get_if<chosen>(&*r)) {
        const choose_by_two& c = choices_[at->number];
        result[c.v] = c.best(c.class_of_u[result[c.u]], c.class_of_w[result[c.w]]);
      }
    }
    return result;
  }

 private:
  struct followed {
    std::uint32_t v, u;
    std::size_t image;  ///< where it begins
  };
  struct chosen {
    std::size_t number;
  };
  // nearly all variables of a problem end up here: small records, no reserve
  std::deque<std::variant<followed, decided, chosen, dominated>> records_;
  std::deque<strategy> images_;
  std::deque<choose_by_two> choices_;
  std::vector<std::pair<std::uint32_t, std::vector<strategy>>> kept_;
};

}  // namespace shardweave::inline v0::detail
