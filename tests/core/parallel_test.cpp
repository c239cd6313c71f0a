#include <shardweave/core/parallel.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace sw = shardweave;

namespace parallel_tests {
namespace {

/// What reaches the caller when the work throws for every number from `first` on.
std::string failure_of(std::size_t count, unsigned threads, std::size_t first) {
  std::vector<int> done(count);
  try {
    sw::for_each_number(count, threads, [&] {
      return [&](std::size_t i) {
        if (i >= first) throw std::runtime_error("number " + std::to_string(i));
        ++done[i];
      };
    });
  } catch (const std::runtime_error& e) {
    for (std::size_t i = 0; i < first; ++i) CHECK(done[i] == 1);
    return e.what();
  }
  return "nothing";
}

}  // namespace

TEST_SUITE("for_each_number") {
  TEST_CASE("every number is worked on once, by no more workers than threads or numbers") {
    for (const std::size_t count : {0U, 1U, 2U, 7U, 100U})
      for (const unsigned threads : {0U, 1U, 2U, 3U, 8U}) {
        CAPTURE(count);
        CAPTURE(threads);
        std::vector<int> done(count);
        std::atomic<unsigned> made = 0;
        sw::for_each_number(count, threads, [&] {
          ++made;
          return [&](std::size_t i) { ++done.at(i); };
        });
        CHECK(done == std::vector<int>(count, 1));
        CHECK(made >= 1);
        CHECK(made <= std::max(threads, 1U));
        CHECK(made <= std::max<std::size_t>(count, 1));
      }
  }

  TEST_CASE("one thread is the caller's, which takes the numbers in order") {
    const auto caller = std::this_thread::get_id();
    std::vector<std::size_t> order;
    sw::for_each_number(5, 1, [&] {
      return [&](std::size_t i) {
        CHECK(std::this_thread::get_id() == caller);
        order.push_back(i);
      };
    });
    CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
  }

  TEST_CASE("a worker keeps what it made for all its numbers") {
    std::atomic<std::size_t> sum = 0;
    sw::for_each_number(50, 3, [&] {
      return [&sum, own = std::size_t{0}](std::size_t) mutable {
        ++own;
        sum += 2 * own - 1;  // in all the squares of what the workers have done
      };
    });
    CHECK(sum <= 50 * 50);
    CHECK(3 * sum >= 50 * 50);
  }

  TEST_CASE("what the work throws for the lowest number reaches the caller, whatever the threads") {
    for (const unsigned threads : {1U, 2U, 3U, 8U}) {
      CAPTURE(threads);
      CHECK(failure_of(40, threads, 0) == "number 0");
      CHECK(failure_of(40, threads, 5) == "number 5");
      CHECK(failure_of(40, threads, 39) == "number 39");
      CHECK(failure_of(40, threads, 40) == "nothing");
      CHECK_THROWS_WITH_AS(
          sw::for_each_number(4, threads, []() -> void (*)(std::size_t) { throw std::runtime_error("no worker"); }),
          "no worker", std::runtime_error);
    }
  }
}

TEST_SUITE("for_each_in_order") {
  TEST_CASE(
      "both of two parts are done, beside each other where there are threads, and what the first throws comes first") {
    for (const unsigned threads : {1U, 2U, 8U}) {
      CAPTURE(threads);
      std::string done(2, ' ');
      sw::side_by_side(
          threads, [&] { done[0] = 'a'; }, [&] { done[1] = 'b'; });
      CHECK(done == "ab");
      CHECK_THROWS_WITH(
          sw::side_by_side(
              threads, [] { throw std::runtime_error("first"); }, [] { throw std::runtime_error("second"); }),
          "first");
      CHECK_THROWS_WITH(sw::side_by_side(
                            threads, [] {}, [] { throw std::runtime_error("second"); }),
                        "second");
    }
    std::atomic<int> there = 0;
    const auto wait = [&] {
      for (++there; there < 2;) std::this_thread::yield();
    };
    sw::side_by_side(2, wait, wait);  // ends only if they are there at once
    CHECK(there == 2);
  }

  TEST_CASE("results are taken in order, one at a time, whoever made them") {
    for (const std::size_t count : {0U, 1U, 2U, 50U})
      for (const unsigned threads : {0U, 1U, 2U, 3U, 8U}) {
        CAPTURE(count);
        CAPTURE(threads);
        std::vector<std::size_t> taken;
        std::atomic<unsigned> waiting = 0, most = 0;
        sw::for_each_in_order(
            count, threads,
            [&] {
              return [&](std::size_t i) {
                const unsigned now = ++waiting;
                for (unsigned seen = most; seen < now && !most.compare_exchange_weak(seen, now);) continue;
                return std::vector<std::size_t>(3, i);
              };
            },
            [&](std::size_t i, std::vector<std::size_t> made) {
              CHECK(made == std::vector<std::size_t>(3, i));
              taken.push_back(i);
              --waiting;
              return true;
            });
        REQUIRE(taken.size() == count);
        for (std::size_t i = 0; i < count; ++i) CHECK(taken[i] == i);
        CHECK(most <= std::max(threads, 1U));
      }
  }

  TEST_CASE("nothing is taken after the taker has had enough") {
    for (const unsigned threads : {1U, 2U, 8U}) {
      std::vector<std::size_t> taken;
      std::atomic<std::size_t> worked = 0;
      sw::for_each_in_order(
          10'000, threads,
          [&] {
            return [&](std::size_t i) {
              ++worked;
              return i;
            };
          },
          [&](std::size_t i, std::size_t) {
            taken.push_back(i);
            return i < 4;
          });
      CHECK(taken == std::vector<std::size_t>{0, 1, 2, 3, 4});
      CHECK(worked < 5 + threads);  // those that had begun
    }
  }

  TEST_CASE("what the work or the taker throws for the lowest number reaches the caller") {
    for (const unsigned threads : {1U, 2U, 8U})
      for (const bool by_taker : {false, true}) {
        CAPTURE(threads);
        std::size_t taken = 0;
        const auto fail = [](std::size_t i) {
          if (i >= 17) throw std::runtime_error("number " + std::to_string(i));
        };
        CHECK_THROWS_WITH_AS(sw::for_each_in_order(
                                 40, threads,
                                 [&] {
                                   return [&](std::size_t i) {
                                     if (!by_taker) fail(i);
                                     return i;
                                   };
                                 },
                                 [&](std::size_t i, std::size_t) {
                                   if (by_taker) fail(i);
                                   ++taken;
                                   return true;
                                 }),
                             "number 17", std::runtime_error);
        CHECK(taken == 17);
      }
  }

  TEST_CASE("a failure waits for its turn: what comes before it is taken, or fails first") {
    std::atomic<bool> has_failed = false;
    const auto run = [&](bool first_fails) {
      sw::for_each_in_order(
          2, 2,
          [&] {
            return [&](std::size_t i) {
              if (i == 1) {
                has_failed = true;
                throw std::runtime_error("the second");
              }
              while (!has_failed) std::this_thread::yield();  // the other worker has begun: two workers, two numbers
              std::this_thread::sleep_for(std::chrono::milliseconds(5));
              return i;
            };
          },
          [&](std::size_t, std::size_t) {
            if (first_fails) throw std::runtime_error("the first");
            return false;
          });
    };
    CHECK_THROWS_WITH_AS(run(true), "the first", std::runtime_error);
    has_failed = false;
    CHECK_NOTHROW(run(false));  // the rest is left undone
  }

  TEST_CASE("a worker that cannot be made ends the work of the others") {
    for (unsigned round = 0; round < 10; ++round) {  // numbers go to workers by chance
      std::atomic<unsigned> made = 0;
      CHECK_THROWS_WITH_AS(sw::for_each_in_order(
                               40, 2,
                               [&] {
                                 if (made++ == 0) {
                                   while (made < 2) std::this_thread::yield();
                                   throw std::runtime_error("no worker");
                                 }
                                 return [](std::size_t i) { return i; };
                               },
                               [](std::size_t, std::size_t) { return true; }),
                           "no worker", std::runtime_error);
    }
  }
}

}  // namespace parallel_tests
