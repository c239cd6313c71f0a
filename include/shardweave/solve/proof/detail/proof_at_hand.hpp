#pragma once

#include <shardweave/core/control.hpp>
#include <shardweave/core/error.hpp>
#include <shardweave/core/last_moment.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/placement/cost.hpp>
#include <shardweave/placement/description.hpp>
#include <shardweave/placement/placement_certificate.hpp>
#include <shardweave/placement/stated_form.hpp>
#include <shardweave/solve/detail/incumbent.hpp>
#include <shardweave/solve/proof/detail/proof_record.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

/// \file
/// Proofs that are checked while the search for better ones goes on.

namespace shardweave::inline v0::detail {

/// The bound at which a search is complete: the incumbent's cost, for floating-point costs less most of the optimality
/// tolerance.
template <cost_value Cost>
[[nodiscard]] Cost claim_of(const incumbent<Cost>& best) {
  if constexpr (std::floating_point<Cost>) {
    return static_cast<Cost>(best.upper() - 0.9 * optimality_tolerance * std::max(1.0, std::abs(best.upper())));
  } else {
    return best.cost();
  }
}

/// Whether a bound, which may have rounding errors, is one of labelings that do not beat the incumbent.
template <cost_value Cost>
[[nodiscard]] bool proves_claim(const incumbent<Cost>& best, double bound) {
  if constexpr (std::floating_point<Cost>) {
    return bound >= best.settled();
  } else {
    return bound >= best.upper() - 1 + std::max(1e-6, 1e-12 * std::abs(best.upper()));
  }
}

/// Refuses, because a stop came before any proof was checked, and none can be in a moment.
template <cost_value Cost>
[[noreturn]] void refuse_unchecked(const placement_description<Cost>& d) {
  refuse(error_category::stopped, "no proof of a bound on '" + d.name + "' was checked in the time");
}

/// Makes checked certificates of the record of a search. If the search may be interrupted, its record is checked from
/// time to time: when it has twice as many cases, or when ten times the duration of the last check has passed. So a
/// stop finds a checked certificate, and the time of another check is known. A second, smaller certificate is kept for
/// a stop, since a large one takes long to write.
template <cost_value Cost>
class proof_at_hand {
 public:
  /// \param other   costs that replace those of the problem; null: none
  /// \param record  of the whole problem: what is written unless there is something better
  /// \param limit   runs against `control`
  /// \param moment  a grace period after it
  /// \pre all references outlive this object
  proof_at_hand(const placement_description<Cost>& d, const costs_in_place<Cost>* other,
                const proof_record<Cost>& record, const incumbent<Cost>& best, const solve_control& control,
                const deadline& limit, last_moment& moment)
      : d_(d),
        other_(other),
        record_(record),
        so_far_(&record),
        best_(best),
        control_(control),
        limit_(limit),
        moment_(moment),
        may_end_early_(control.stop.stop_possible() || control.seconds < std::numeric_limits<double>::infinity()) {}
  proof_at_hand(const proof_at_hand&) = delete;

  /// From now on, another proof is checked. \pre it outlives this object
  void follow(const proof_so_far<Cost>& proof) { so_far_ = &proof; }
  /// Strategies that limits rule out, before all cases.
  void begin_with(std::vector<strategies_ruled_out> ruled_out) { ruled_out_ = std::move(ruled_out); }

  /// Whether the search must end: after a stop, or when the time left is about that of another check.
  [[nodiscard]] bool expired() const {
    if (limit_.expired()) return true;
    if (checked_ == 0) return false;
    constexpr double margin = 2;  // cases with prices take longer to check than those without
    return limit_.remaining() < margin * took_ * static_cast<double>(so_far_->size()) / static_cast<double>(checked_);
  }
  /// Whether another check may end in time; if not, nothing more needs to be recorded.
  [[nodiscard]] bool may_check() const {
    return !limit_.expired() || (took_ <= moment_.seconds() && !moment_.is_over());
  }
  /// Called between two subproblems: checks what there is if it is time to, or if it is `much_better`.
  void look(bool much_better = false) {
    if (!may_end_early_ || limit_.expired()) return;
    const double begin = limit_.elapsed();
    if (!much_better && so_far_->size() < 2 * checked_ && begin < next_look_) return;
    static_cast<void>(check(0));
    took_ = limit_.elapsed() - begin;
    checked_ = so_far_->size();
    next_look_ = begin + 11 * took_;
  }
  /// The certificate of the whole record; after a stop, or if time does not suffice, one that was checked before.
  /// \throws error (input) if none holds, (stopped) if none was checked in time
  [[nodiscard]] placement_certificate<Cost> last() {
    std::string why;
    for (int less = 0; less < 4 && may_check(); ++less) {
      const certificate_verdict<Cost> verdict = check(less);
      if (verdict.accepted) break;
      if (less == 0) why = verdict.failure;
    }
    if (brief_ && control_.stop.stop_requested()) return *std::move(brief_);
    if (at_hand_) return *std::move(at_hand_);
    if (limit_.expired()) refuse_unchecked(d_);
    refuse(error_category::input, "no proof of a bound on '" + d_.name + "' holds: " + why);
  }

 private:
  /// Checks a certificate and keeps it if it is accepted. A case may be rejected where a sum is at the limit of double
  /// precision, so weaker certificates are tried in turn.
  /// \param less  0: all cases; 1: a single case; 2: also nothing ruled out before; 3: also without prices and messages
  [[nodiscard]] certificate_verdict<Cost> check(int less) {
    placement_certificate<Cost> c{.problem = d_.name, .counted = d_.counted, .windows = d_.windows};
    if (less < 2) c.ruled_out = ruled_out_;
    if (less == 0) {
      so_far_->write(c);
    } else {
      record_.write_root(c, less == 3);
    }
    if (best_.is_known()) c.lower_bound = claim_of(best_);
    const Cost cutoff = c.lower_bound;
    certificate_verdict<Cost> proven = proven_by(d_, c, other_, time_to_check());
    if (!proven.accepted) return proven;
    c.infeasible = is_forbidden(proven.bound);
    c.lower_bound = c.infeasible ? Cost{} : proven.bound;
    const bool narrows =
        std::ranges::any_of(c.cases, [](const placement_case& one) { return one.multipliers && !one.cases.empty(); });
    if (narrows && !c.infeasible && c.lower_bound < cutoff) c.cutoff = cutoff;
    if (amounts_of(c) <= most_in_a_moment) brief_ = c;
    at_hand_ = std::move(c);
    return proven;
  }
  /// The time left; when none is, a moment, in which small problems are checked.
  [[nodiscard]] solve_control time_to_check() const {
    return limit_.expired() ? solve_control{.seconds = moment_.left()} : limit_.rest_for_part();
  }
  [[nodiscard]] static std::size_t amounts_of(const placement_certificate<Cost>& c) {
    std::size_t all = 0;
    for (const placement_multipliers& m : c.multipliers) {
      all += m.messages.amounts().size();
      for (const row_knapsack& k : m.knapsacks)
        for (const row_knapsack::member& one : k.members) all += one.amounts.size();
    }
    return all;
  }

  /// Amounts of a certificate that is written, and packed, in a moment: some 150 KB of text.
  static constexpr std::size_t most_in_a_moment = 25'000;

  const placement_description<Cost>& d_;
  const costs_in_place<Cost>* other_;
  const proof_record<Cost>& record_;
  const proof_so_far<Cost>* so_far_;
  const incumbent<Cost>& best_;
  const solve_control& control_;
  const deadline& limit_;
  last_moment& moment_;
  bool may_end_early_;
  std::vector<strategies_ruled_out> ruled_out_ = {};
  std::optional<placement_certificate<Cost>> at_hand_ = std::nullopt;
  std::optional<placement_certificate<Cost>> brief_ =
      std::nullopt;          ///< the last one that is small enough to be written in a moment
  std::size_t checked_ = 0;  ///< number of cases at the last check
  double took_ = 0;          ///< duration of the last check, in seconds
  double next_look_ = 0;
};

}  // namespace shardweave::inline v0::detail
