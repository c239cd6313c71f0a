#include <shardweave/core/error.hpp>
#include <shardweave/engine/rank_agreement.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/thread_engine.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <doctest/doctest.h>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <barrier>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace rank_agreement_tests {
namespace {

/// What ranks on threads of this process share.
struct meeting_place {
  explicit meeting_place(int ranks) : size(ranks), everyone(ranks) {}
  int size;
  std::barrier<> everyone;
  std::mutex held = {};
  std::vector<double> most = {};
  std::size_t comparisons = 0;
};

/// A rank among threads: computes by a clock of its own, compares numbers with the others.
class rank_on_thread : public sw::virtual_engine {
 public:
  rank_on_thread(meeting_place& place, int rank) : place_(&place), rank_(rank) {}
  std::size_t start(const sw::collective_call& call) {
    ++launched;
    return virtual_engine::start(call);
  }
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int size() const { return place_->size; }
  void largest(std::span<double> values) {
    place_->everyone.arrive_and_wait();
    {
      const std::lock_guard lock(place_->held);
      if (place_->most.empty()) {
        place_->most.assign(values.begin(), values.end());
        ++place_->comparisons;
      }
      for (std::size_t i = 0; i < values.size(); ++i) place_->most[i] = std::max(place_->most[i], values[i]);
    }
    place_->everyone.arrive_and_wait();
    std::copy(place_->most.begin(), place_->most.end(), values.begin());
    place_->everyone.arrive_and_wait();
    if (rank_ == 0) place_->most.clear();
  }
  std::size_t launched = 0;

 private:
  meeting_place* place_;
  int rank_;
};
static_assert(sw::ranked_engine<rank_on_thread>);
static_assert(!sw::ranked_engine<sw::virtual_engine> && !sw::ranked_engine<sw::thread_engine>);

/// Two gathers on neighbours, two on everyone, waits at the end.
sw::task_graph four_gathers(std::int64_t takes = 1000, const std::string& name = "a") {
  sw::task_graph_builder b;
  b.add_group({.id = 3, .name = "tp", .size = 2, .stride = 1});
  b.add_group({.id = 5, .name = "dp", .size = 4});
  b.add_task(small_tasks::work(name, takes));
  for (std::uint32_t i = 0; i < 4; ++i) b.add_task(small_tasks::gather("g", 30, {0}, 4096 * (1 + i), i / 2));
  for (sw::task_index c = 1; c <= 4; ++c) b.add_task(small_tasks::wait_for("w", c));
  return std::move(b).build();
}

/// What each rank's work ends with: the words of its refusal, or nothing.
template <class Work>
std::vector<std::string> on_ranks(meeting_place& place, Work work) {
  std::vector<std::string> words(static_cast<std::size_t>(place.size));
  std::vector<std::thread> threads;
  for (int r = 0; r < place.size; ++r)
    threads.emplace_back([&, r] {
      rank_on_thread engine(place, r);
      try {
        work(engine);
      } catch (const sw::error& e) {
        words[static_cast<std::size_t>(r)] = e.what();
      }
    });
  for (std::thread& t : threads) t.join();
  return words;
}

}  // namespace

TEST_SUITE("rank_agreement") {
  TEST_CASE("ranks that launch the same replay it, after one comparison") {
    meeting_place place(4);
    const sw::task_graph g = four_gathers();
    const sw::schedule s{.order = {0, 1, 3, 2, 4, 5, 6, 7, 8}};
    const sw::nanoseconds expected = sw::simulate(g, s).end_to_end;
    const auto words = on_ranks(place, [&](rank_on_thread& engine) {
      if (sw::replay(g, s, engine).end_to_end != expected || engine.launched != 4)
        sw::refuse(sw::error_category::input, "another replay");
    });
    CHECK(words == std::vector<std::string>(4));
    CHECK(place.comparisons == 1);
  }

  TEST_CASE(
      "the first rank that would launch something else is named by all, with its group, and nothing is launched") {
    meeting_place place(4);
    const sw::task_graph g = four_gathers();
    const auto words = on_ranks(place, [&](rank_on_thread& engine) {
      sw::schedule s{.order = {0, 1, 2, 3, 4, 5, 6, 7, 8}};
      if (engine.rank() == 3) std::swap(s.order[1], s.order[2]);  // on tp
      try {
        static_cast<void>(sw::replay(g, s, engine));
      } catch (const sw::error&) {
        if (engine.launched > 0) sw::refuse(sw::error_category::input, "something was launched");
        throw;
      }
    });
    const std::string all =
        "rank 3 is about to launch other collectives on group 3 (tp), or the same in another order, than rank 2, "
        "expected the same schedule of the same collectives on all ranks of a group; nothing was launched";
    CHECK(words == std::vector<std::string>(4, all));
  }

  TEST_CASE("groups that never meet may launch in other orders") {
    meeting_place place(4);
    const sw::task_graph g = four_gathers();
    const auto words = on_ranks(place, [&](rank_on_thread& engine) {
      sw::schedule s{.order = {0, 1, 2, 3, 4, 5, 6, 7, 8}};
      if (engine.rank() >= 2) std::swap(s.order[1], s.order[2]);  // both of the second pair
      static_cast<void>(sw::replay(g, s, engine));
    });
    CHECK(words == std::vector<std::string>(4));
    CHECK(place.comparisons == 5);
  }

  TEST_CASE("durations agree on the lower median, and a rank with other tasks is named") {
    meeting_place place(4);
    std::vector<std::int64_t> agreed(4);
    const std::int64_t measured[] = {700, 100, 900, 300};
    CHECK(on_ranks(place, [&](rank_on_thread& engine) {
            const auto r = static_cast<std::size_t>(engine.rank());
            agreed[r] = sw::agreed_durations(four_gathers(measured[r]), engine).duration(0).count();
          }) == std::vector<std::string>(4));
    CHECK(agreed == std::vector<std::int64_t>(4, 300));
    const auto words = on_ranks(place, [&](rank_on_thread& engine) {
      static_cast<void>(sw::agreed_durations(four_gathers(100, engine.rank() == 1 ? "other" : "a"), engine));
    });
    CHECK(words == std::vector<std::string>(4,
                                            "tasks differ across ranks: those of rank 1 have other names, operations "
                                            "or kinds than those of rank 0"));
  }
}

}  // namespace rank_agreement_tests
