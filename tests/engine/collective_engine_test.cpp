#include "random_schedule.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/engine/collective_engine.hpp>
#include <shardweave/engine/replay.hpp>
#include <shardweave/engine/thread_engine.hpp>
#include <shardweave/engine/virtual_engine.hpp>
#include <shardweave/simulate/simulate.hpp>

#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/small_tasks.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;
using ns = sw::nanoseconds;

namespace collective_engine_tests {
namespace {

/// What is asked of an engine: work, a launch or a wait.
struct asked {
  enum class what : std::uint8_t { work, launch, wait };
  what kind = what::work;
  std::int64_t duration = 0;
  std::uint32_t channel = 0;
  std::size_t of = 0;  ///< operation that a wait is for
};

std::vector<asked> random_program(sw::random_source& random, std::uint32_t channels) {
  std::vector<asked> program;
  std::vector<std::size_t> launched;
  for (std::size_t i = 0; i < 1 + random.below(30); ++i) {
    asked a;
    a.duration = static_cast<std::int64_t>(random.below(12));
    if (random.chance(0.4)) {
      a.kind = asked::what::launch;
      a.channel = static_cast<std::uint32_t>(random.below(channels));
      launched.push_back(i);
    } else if (!launched.empty() && random.chance(0.4)) {
      a.kind = asked::what::wait;
      a.of = launched[random.below(launched.size())];
    }
    program.push_back(a);
  }
  return program;
}

/// The rules of an engine played nanosecond by nanosecond: the compute stream takes one thing after the other, each
/// channel one collective after the other, none before the stream has come to it; a wait ends when its collective has.
std::vector<sw::time_span> played(const std::vector<asked>& program, std::uint32_t channels) {
  struct state {
    std::int64_t begun = -1, left = 0, ended = -1;
  };
  std::vector<state> all(program.size());
  std::vector<std::deque<std::size_t>> queue(channels);
  std::size_t next = 0;
  const auto is_done = [&](std::size_t i) { return all[i].ended >= 0; };
  for (std::int64_t now = 0;; ++now) {
    // what ends or begins now may let more end or begin now
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& q : queue) {
        if (q.empty()) continue;
        state& s = all[q.front()];
        if (s.begun < 0) s.begun = now, s.left = program[q.front()].duration, changed = true;
        if (s.left == 0) s.ended = now, q.pop_front(), changed = true;
      }
      if (next == program.size()) continue;
      const asked& a = program[next];
      state& s = all[next];
      if (a.kind == asked::what::launch) {
        queue[a.channel].push_back(next++);
        changed = true;
        continue;
      }
      if (s.begun < 0) s.begun = now, s.left = a.duration, changed = true;
      if (a.kind == asked::what::work ? s.left == 0 : is_done(a.of)) s.ended = now, ++next, changed = true;
    }
    bool over = next == program.size();
    for (const auto& q : queue) over = over && q.empty();
    if (over) break;
    for (auto& q : queue)
      if (!q.empty()) --all[q.front()].left;
    if (next < program.size()) --all[next].left;
  }
  std::vector<sw::time_span> spans;
  for (const state& s : all) spans.push_back({ns(s.begun), ns(s.ended)});
  return spans;
}

/// Tells a program to an engine; the operations are numbered as they are told.
template <class Engine>
void tell(Engine& engine, const std::vector<asked>& program) {
  for (std::size_t i = 0; i < program.size(); ++i) {
    const asked& a = program[i];
    const std::size_t number = a.kind == asked::what::work ? engine.run({.duration = ns(a.duration)})
                               : a.kind == asked::what::launch
                                   ? engine.start({.channel = a.channel, .duration = ns(a.duration)})
                                   : engine.wait(a.of);
    CHECK(number == i);
  }
  engine.finish();
}

/// A machine that is slower than it was told by random amounts, whose clock does not begin at 0. Remembers what it was
/// told, so that a replay's figures can be worked out again.
class slow_machine {
 public:
  static constexpr std::string_view name = "slow";
  explicit slow_machine(std::uint64_t seed) : random_(seed) { inner_.run({.duration = ns(1'000'000'007)}); }

  struct done {
    enum class what : std::uint8_t { work, copy, launch, wait };
    what kind;
    std::uint32_t channel;
    sw::task_index task;
  };
  void connect(std::span<const sw::process_group> groups) {
    inner_.run({.duration = ns(13)});
    inner_.connect(groups);
    log.clear();
  }
  std::size_t run(sw::compute_call work) {
    if (work.duration > ns(0)) work.duration += late();
    log.push_back({work.work == sw::compute_work::task ? done::what::work : done::what::copy, 0, work.task});
    return inner_.run(work);
  }
  std::size_t start(sw::collective_call call) {
    call.duration += late();
    log.push_back({done::what::launch, call.channel, call.task});
    return inner_.start(call);
  }
  std::size_t wait(std::size_t operation) {
    log.push_back({done::what::wait, 0, log[operation].task});
    return inner_.wait(operation);
  }
  void finish() { inner_.finish(); }
  [[nodiscard]] ns now() const { return inner_.now(); }
  [[nodiscard]] sw::time_span span(std::size_t operation) const { return inner_.span(operation); }

  std::vector<done> log = {};

 private:
  ns late() { return ns(static_cast<std::int64_t>(random_.below(40))); }
  sw::random_source random_;
  sw::virtual_engine inner_ = {};
};
static_assert(sw::collective_engine<slow_machine>);

}  // namespace

TEST_SUITE("collective_engine") {
  TEST_CASE("the virtual engine keeps the rules, as playing them nanosecond by nanosecond shows") {
    sw::random_source random(31);
    for (std::size_t round = 0; round < shardweave_test::at_scale(400); ++round) {
      const auto channels = static_cast<std::uint32_t>(1 + random.below(3));
      const auto program = random_program(random, channels);
      sw::virtual_engine engine;
      engine.connect(std::vector<sw::process_group>(channels));
      tell(engine, program);
      const auto expected = played(program, channels);
      ns last;
      for (std::size_t i = 0; i < program.size(); ++i) {
        CAPTURE(round);
        CAPTURE(i);
        CHECK(engine.span(i) == expected[i]);
        last = std::max(last, expected[i].end);
      }
      CHECK(engine.now() == last);
    }
  }

  TEST_CASE("threads do everything in an order that the rules allow, and nothing in less than its time") {
    sw::random_source random(32);
    sw::thread_engine engine;
    for (int round = 0; round < 10; ++round) {
      auto program = random_program(random, 2);
      for (asked& a : program) a.duration *= 300;
      engine.connect(std::vector<sw::process_group>(2));
      tell(engine, program);
      std::array<ns, 2> channel_end{};
      ns stream_end;
      for (std::size_t i = 0; i < program.size(); ++i) {
        const sw::time_span s = engine.span(i);
        CHECK(s.length() >= ns(0));
        CHECK(s.start >= stream_end);
        if (program[i].kind == asked::what::launch) {
          CHECK(s.start >= channel_end[program[i].channel]);
          channel_end[program[i].channel] = s.end;
          CHECK(s.length() >= ns(program[i].duration) - ns(1));
          continue;
        }
        stream_end = s.end;
        if (program[i].kind == asked::what::work) CHECK(s.length() >= ns(program[i].duration) - ns(1));
        if (program[i].kind == asked::what::wait) CHECK(s.end >= engine.span(program[i].of).end);
      }
    }
  }

  TEST_CASE("of several failures on threads the first comes out, once, and what succeeds after it does not hide it") {
    int calls = 0;
    sw::thread_engine engine({.communicate = [&](const sw::collective_call&) {
      ++calls;
      if (calls == 2) throw std::runtime_error("the first");
      if (calls == 3) throw std::runtime_error("the second");
    }});
    engine.connect(std::vector<sw::process_group>(1));
    for (int i = 0; i < 5; ++i) engine.start({});
    CHECK_THROWS_WITH_AS(engine.finish(), "the first", std::runtime_error);
    CHECK(calls == 5);
    engine.finish();
  }
}

TEST_SUITE("replay") {
  TEST_CASE("the figures of a timeline are sums of what the engine measured, from the beginning of the replay") {
    std::size_t buckets = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(150); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 3 + random.below(20), .groups = 1 + random.below(3)});
      const sw::schedule s = random_schedule(g, random);
      REQUIRE(!s.order.empty());
      slow_machine engine(seed);
      const auto tolerance = static_cast<std::int64_t>(random.below(60));
      const sw::timeline line = sw::replay(g, s, engine, {.stall_tolerance = ns(tolerance)});

      using what = slow_machine::done::what;
      ns compute, copies, communication, exposed, stream_end, channel_end;
      std::vector<ns> busy(g.groups().size());
      std::vector<sw::task_index> stalled;
      std::size_t launches = 0;
      const ns zero(1'000'000'007 + 13);
      for (std::size_t i = 0; i < engine.log.size(); ++i) {
        const auto& d = engine.log[i];
        const sw::time_span ran{engine.span(i).start - zero, engine.span(i).end - zero};
        if (d.kind == what::launch) {
          ++launches;
          communication += ran.length();
          busy[d.channel] += ran.length();
          channel_end = std::max(channel_end, ran.end);
          continue;
        }
        stream_end = std::max(stream_end, ran.end);
        if (d.kind == what::work && g.kind(d.task) != sw::task_kind::wait) compute += ran.length();
        if (d.kind == what::copy) copies += ran.length();
        if (d.kind != what::wait) continue;
        exposed += ran.length();
        if (ran.length() > ns(tolerance) && std::find(stalled.begin(), stalled.end(), d.task) == stalled.end())
          stalled.push_back(d.task);
      }
      CHECK(line.compute == compute);
      CHECK(line.packing == copies);
      CHECK(line.communication == communication);
      CHECK(line.exposed == exposed);
      CHECK(line.channel_busy == busy);
      CHECK(line.collectives == launches);
      CHECK(line.hidden_count == launches - stalled.size());
      CHECK(line.end_to_end == std::max(stream_end, channel_end));
      CHECK(line.tail == line.end_to_end - stream_end);
      CHECK(line.hidden == communication - exposed - line.tail);
      CHECK(line.buckets.size() == s.buckets.size());
      // memory and counts are those of the order, whatever the clock says
      const sw::timeline predicted = sw::simulate(g, s);
      CHECK(line.peak == predicted.peak);
      CHECK(line.collectives == predicted.collectives);
      for (sw::task_index t = 0; t < g.size(); ++t) {
        CHECK(line.end[t] >= predicted.end[t]);
        CHECK(line.start[t] >= ns(0));
      }
      buckets += s.buckets.size();
    }
    CHECK(buckets > shardweave_test::at_scale(20));
  }

  TEST_CASE(
      "all members of a bucket run when their bucket runs, and each bucket is copied twice unless it is coalesced") {
    std::size_t members = 0, coalesced = 0;
    for (std::uint64_t seed = 1; seed <= shardweave_test::at_scale(100); ++seed) {
      CAPTURE(seed);
      sw::random_source random(seed + 1000);
      const sw::task_graph g = random_tasks(seed, {.blocks = 5 + random.below(20), .groups = 1 + random.below(3)});
      const sw::schedule s = random_schedule(g, random);
      slow_machine engine(seed);
      const sw::timeline line = sw::replay(g, s, engine);
      for (std::size_t b = 0; b < s.buckets.size(); ++b) {
        const sw::bucket_times& times = line.buckets[b];
        for (const sw::task_index t : s.buckets[b].members) {
          CHECK(line.start[t] == times.start);
          CHECK(line.end[t] == times.end);
          ++members;
        }
        const auto copies = std::count_if(engine.log.begin(), engine.log.end(), [&](const auto& d) {
          return d.kind == slow_machine::done::what::copy && d.task == s.buckets[b].members.front();
        });
        CHECK(copies == (s.buckets[b].coalesced ? 0 : 2));
        coalesced += s.buckets[b].coalesced;
        CHECK(times.pack_start <= times.start);
        CHECK(times.end <= times.unpack_start);
        CHECK(times.unpack_start <= times.unpack_end);
      }
    }
    CHECK(members > shardweave_test::at_scale(40));
    CHECK(coalesced > shardweave_test::at_scale(10));
  }

  TEST_CASE("an engine hears of a bucket at one address, with its members as they are packed") {
    struct address_book : sw::virtual_engine {
      std::size_t run(const sw::compute_call& work) {
        if (work.bucket != nullptr) seen.push_back({work.bucket, work.work});
        return sw::virtual_engine::run(work);
      }
      std::size_t start(const sw::collective_call& call) {
        parts.clear();
        for (const sw::bucket_part& p : call.parts) parts.emplace_back(p.task, p.bytes_in.count());
        started = &call;
        total = call.bytes_in;
        return sw::virtual_engine::start(call);
      }
      std::vector<std::pair<const sw::collective_call*, sw::compute_work>> seen = {};
      std::vector<std::pair<sw::task_index, std::int64_t>> parts = {};
      const sw::collective_call* started = nullptr;
      sw::bytes total = {};
    } engine;
    sw::task_graph_builder b;
    b.device.dram_bytes_per_ns = 2;
    b.add_group({.id = 7, .name = "dp", .size = 4});
    b.add_table(sw::duration_table(sw::collective::all_gather, 0, {sw::bytes(0), sw::bytes(100)}, {ns(10), ns(110)}));
    b.add_task(small_tasks::work("a", 5));
    b.add_task(small_tasks::gather("g0", 30, {0}, 10));
    b.add_task(small_tasks::gather("g1", 40, {0}, 20));
    b.add_task(small_tasks::wait_for("w0", 1));
    b.add_task(small_tasks::wait_for("w1", 2));
    const sw::task_graph g = std::move(b).build();
    const sw::schedule s{.order = {0, 1, 2, 4, 3}, .buckets = {sw::make_bucket(g, {2, 1})}};
    static_cast<void>(sw::replay(g, s, engine));
    REQUIRE(engine.seen.size() == 2);
    CHECK(engine.seen[0] == std::pair{engine.started, sw::compute_work::pack});
    CHECK(engine.seen[1] == std::pair{engine.started, sw::compute_work::unpack});
    CHECK(engine.parts == std::vector<std::pair<sw::task_index, std::int64_t>>{{2, 20}, {1, 10}});
    CHECK(engine.total == sw::bytes(30));
  }
}

}  // namespace collective_engine_tests
