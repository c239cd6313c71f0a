#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/tasks/memory_tracker.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

namespace sw = shardweave;

namespace memory_by_definition_tests {
namespace {

/// Memory after a prefix of an order, from the words of the rule alone: no counters, everything looked up anew.
struct by_definition {
  const sw::task_graph& g;
  std::vector<sw::task_index> ran = {};        ///< members of a bucket count from its launch
  std::vector<sw::task_index> allocated = {};  ///< whose own storages were made live
  std::vector<sw::bucket> open = {};           ///< launched, not unpacked

  [[nodiscard]] std::set<std::uint32_t> listed_by(sw::task_index t) const {
    std::set<std::uint32_t> all;
    for (std::size_t i = 0; i < g.output_count(t); ++i)
      if (g.output_storage(t, i) != sw::no_index) all.insert(g.output_storage(t, i));
    return all;
  }
  /// Everyone who reads what some task lists.
  [[nodiscard]] std::vector<sw::task_index> users_of(std::uint32_t piece) const {
    std::vector<sw::task_index> users;
    for (sw::task_index t = 0; t < g.size(); ++t)
      for (const sw::task_index p : g.inputs(t))
        if (listed_by(p).count(piece) && (users.empty() || users.back() != t)) users.push_back(t);
    return users;
  }
  [[nodiscard]] bool was_made(std::uint32_t piece) const {
    const auto lists = [&](sw::task_index t) { return listed_by(t).count(piece) > 0; };
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.kind(t) == sw::task_kind::input && lists(t)) return true;
    return std::any_of(allocated.begin(), allocated.end(), lists);
  }
  [[nodiscard]] bool was_freed(std::uint32_t piece) const {
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.kind(t) == sw::task_kind::input && g.name_of(t).starts_with("primals") && listed_by(t).count(piece))
        return false;
    const auto users = users_of(piece);
    if (users.empty()) return false;
    for (const sw::task_index u : users)
      if (std::find(ran.begin(), ran.end(), u) == ran.end()) return false;
    const auto last = std::find_first_of(ran.rbegin(), ran.rend(), users.begin(), users.end());
    return g.kind(*last) != sw::task_kind::output;
  }
  [[nodiscard]] sw::bytes live() const {
    sw::bytes sum;
    for (std::uint32_t s = 0; s < g.storages().size(); ++s)
      if (g.storages()[s].device == sw::storage_device::gpu && was_made(s) && !was_freed(s))
        sum += g.storages()[s].size;
    for (const sw::bucket& b : open) sum += b.bytes_in + b.bytes_out;
    return sum;
  }
};

}  // namespace

TEST_SUITE("memory_tracker") {
  TEST_CASE("live and peak bytes are those of the definition, at every step of random orders with buckets") {
    std::size_t with_buckets = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::sized(60U, 9U); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 9, .chained_wait = 0.3});
      sw::random_source random(seed);
      const auto buckets = sw::greedy{.fsdp_only = false, .needs_gain = false}(g).buckets;
      const auto order = random_order(g, buckets, random);
      REQUIRE(order.size() == g.size());
      with_buckets += !buckets.empty();

      const sw::storage_uses uses(g);
      sw::memory_tracker tracker(uses, g.storages().size());
      by_definition plain{g};
      CHECK(tracker.live() == plain.live());
      sw::bytes peak = plain.live();
      std::vector<std::size_t> missing;
      for (const auto& b : buckets) missing.push_back(b.members.size());
      std::set<std::size_t> unpacked;
      const auto bucket_of = [&](sw::task_index t) {
        for (std::size_t b = 0; b < buckets.size(); ++b)
          if (std::count(buckets[b].members.begin(), buckets[b].members.end(), t)) return b;
        return buckets.size();
      };
      for (const sw::task_index t : order) {
        CAPTURE(t);
        if (const std::size_t b = bucket_of(t); b < buckets.size()) {
          if (--missing[b] > 0) continue;
          plain.open.push_back(buckets[b]);
          peak = std::max(peak, plain.live());  // with the buffers, before the members' inputs go
          plain.ran.insert(plain.ran.end(), buckets[b].members.begin(), buckets[b].members.end());
          tracker.launch(buckets[b]);
        } else {
          const sw::task_index c = g.completes(t);
          if (const std::size_t waited = c == sw::no_index ? buckets.size() : bucket_of(c);
              waited < buckets.size() && unpacked.insert(waited).second) {
            plain.allocated.insert(plain.allocated.end(), buckets[waited].members.begin(),
                                   buckets[waited].members.end());
            peak = std::max(peak, plain.live());  // members' storages beside the buffers
            std::erase(plain.open, buckets[waited]);
            tracker.unpack(buckets[waited]);
          }
          const sw::bytes before = plain.live(), demand = tracker.demand(t);
          plain.allocated.push_back(t);
          CHECK(demand == plain.live() - before);
          peak = std::max(peak, plain.live());
          plain.ran.push_back(t);
          tracker.run(t);
        }
        CHECK(tracker.live() == plain.live());
        CHECK(tracker.peak() == peak);
      }
      CHECK(plain.open.empty());
    }
    CHECK(with_buckets > shardweave_test::sized(20U, 3U));
  }

  TEST_CASE("a checkpoint goes on as if nothing had happened since") {
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      const sw::task_graph g = random_tasks(seed);
      const sw::storage_uses uses(g);
      sw::memory_tracker whole(uses, g.storages().size());
      std::vector<sw::memory_tracker> checkpoints;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        checkpoints.push_back(whole);
        whole.run(t);
      }
      for (sw::task_index from = 0; from < g.size(); from += 5) {
        sw::memory_tracker again = checkpoints[from];
        for (sw::task_index t = from; t < g.size(); ++t) again.run(t);
        CHECK(again.live() == whole.live());
        CHECK(again.peak() == whole.peak());
      }
    }
  }
}

}  // namespace memory_by_definition_tests
