#pragma once

#include <shardweave/core/interning.hpp>
#include <shardweave/placement/cost_table.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// \file
/// Equal operations on equal tables are done once: real problems repeat a table 20 to 50 times.

namespace shardweave {
inline namespace v0 {
namespace detail {

/// Transposes, sums and selections of shared tables, remembered as long as this object lives.
template <cost_value Cost>
class table_memo {
 public:
  using table = cost_table<Cost>;
  using table_pointer = std::shared_ptr<const table>;

  static table_pointer hold(table t) { return std::make_shared<const table>(std::move(t)); }

  [[nodiscard]] table_pointer flipped(const table_pointer& t) {
    const auto [known, fresh] = flips_.try_emplace(t);
    if (fresh) {
      const table_pointer other = hold(t->transposed());
      known->second = other;
      flips_[other] = t;
      return other;
    }
    return known->second;
  }
  [[nodiscard]] table_pointer sum(const table_pointer& a, const table_pointer& b) {
    table_pointer& known = sums_[{a, b}];
    if (!known) known = hold(*a + *b);
    return known;
  }
  /// The listed rows, all columns.
  [[nodiscard]] table_pointer selected(const table_pointer& t, std::span<const strategy> rows) {
    table_pointer& known = selections_[{t, lists_(std::vector<strategy>(rows.begin(), rows.end()))}];
    if (!known) {
      std::vector<strategy> all(t->columns());
      std::iota(all.begin(), all.end(), strategy{0});
      known = hold(t->selected(rows, all));
    }
    return known;
  }

 private:
  interner<std::vector<strategy>, sequence_hash> lists_;
  // keyed by owners, so that no address is used twice; never iterated, so the order of addresses does not matter
  std::map<table_pointer, table_pointer> flips_;
  std::map<std::pair<table_pointer, table_pointer>, table_pointer> sums_;
  std::map<std::pair<table_pointer, std::uint32_t>, table_pointer> selections_;
};

}  // namespace detail
}  // namespace v0
}  // namespace shardweave
