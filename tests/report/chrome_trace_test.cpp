#include "report/small_timeline.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/core/random.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/report/chrome_trace.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace chrome_trace_tests {
namespace {
/// A trace as a viewer takes it: events sorted by time (equal ones as in the file), slices on tracks, the ends
/// of arrows tied to the slice that began last on their track.
struct viewer {
  struct slice {
    std::int64_t tid, start, end;
    std::string name, category;
    boost::json::object arguments;
  };
  struct arrow {
    std::string name;
    std::size_t from = 0, to = 0;  // slices
    int starts = 0, ends = 0;
  };
  std::vector<slice> slices = {};
  std::map<std::int64_t, arrow> arrows = {};
  std::map<std::int64_t, std::string> tracks = {};
  std::vector<std::pair<std::int64_t, std::int64_t>> memory = {};
  std::string process = {};
  boost::json::object other = {};
  std::set<std::int64_t> processes = {};

  static std::int64_t ns(const boost::json::value& us) { return std::llround(us.to_number<double>() * 1000); }
  static std::string text(const boost::json::value& v) { return std::string(v.as_string()); }

  explicit viewer(const std::string& json) {
    const boost::json::value document = boost::json::parse(json);
    other = document.at("otherData").as_object();
    std::vector<const boost::json::object*> events;
    for (const auto& e : document.at("traceEvents").as_array()) {
      processes.insert(e.at("pid").as_int64());
      if (e.at("ph") == "M") {
        if (e.at("name") == "process_name") process = text(e.at("args").at("name"));
        if (e.at("name") == "thread_name") tracks[e.at("tid").as_int64()] = text(e.at("args").at("name"));
      } else {
        events.push_back(&e.as_object());
      }
    }
    std::stable_sort(events.begin(), events.end(),
                     [](const auto* a, const auto* b) { return ns(a->at("ts")) < ns(b->at("ts")); });
    std::map<std::int64_t, std::size_t> newest;
    for (const auto* e : events) {
      const std::int64_t at = ns(e->at("ts")), tid = e->at("tid").as_int64();
      const std::string phase = text(e->at("ph"));
      if (phase == "X") {
        REQUIRE(tracks.count(tid) == 1);
        if (newest.count(tid)) REQUIRE(slices[newest.at(tid)].end <= at);  // one track never overlaps
        newest[tid] = slices.size();
        slices.push_back(
            {tid, at, at + ns(e->at("dur")), text(e->at("name")), text(e->at("cat")), e->at("args").as_object()});
        REQUIRE(slices.back().end >= at);
      } else if (phase == "C") {
        memory.emplace_back(at, e->at("args").at("bytes").as_int64());
      } else {
        arrow& a = arrows[e->at("id").as_int64()];
        REQUIRE(newest.count(tid) == 1);
        const std::size_t s = newest.at(tid);
        REQUIRE(at <= slices[s].end);
        if (phase == "s") {
          REQUIRE(a.ends == 0);
          a.name = text(e->at("name"));
          a.from = s;
          ++a.starts;
        } else {
          REQUIRE(phase == "f");
          REQUIRE(e->at("bp") == "e");
          REQUIRE(a.name == text(e->at("name")));
          a.to = s;
          ++a.ends;
        }
      }
    }
    for (const auto& [id, a] : arrows) {
      REQUIRE(a.starts == 1);
      REQUIRE(a.ends == 1);
    }
  }
  std::int64_t task_of(std::size_t s) const { return slices[s].arguments.at("task").as_int64(); }
  std::int64_t sum(const std::string& category) const {
    std::int64_t all = 0;
    for (const slice& s : slices)
      if (s.category == category) all += s.end - s.start;
    return all;
  }
  /// (kind of arrow, task of its start, task of its end)
  std::set<std::tuple<std::string, std::int64_t, std::int64_t>> arrow_tasks() const {
    std::set<std::tuple<std::string, std::int64_t, std::int64_t>> all;
    for (const auto& [id, a] : arrows) all.emplace(a.name, task_of(a.from), task_of(a.to));
    return all;
  }
};
}  // namespace

TEST_SUITE("chrome_trace") {
  TEST_CASE("a small schedule gives the text that one writes by hand") {
    const small_timeline all = two_products();
    const std::string text = sw::chrome_trace(all.graph, all.schedule, all.line, {.arrows = false});
    const std::string gather =
        R"json("op":"gather.op","bucket":0,"collective":"all_gather","group":"dp (group 513)",)json"
        R"json("bytes_in":100,"bytes_out":200,"dtype":"bf16")json";
    const std::string expected =
        R"json({"displayTimeUnit":"ns","traceEvents":[
{"ph":"M","name":"process_name","pid":1,"tid":0,"args":{"name":"two products"}},
{"ph":"M","name":"thread_name","pid":1,"tid":1,"args":{"name":"compute"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":1,"args":{"sort_index":1}},
{"ph":"M","name":"thread_name","pid":1,"tid":2,"args":{"name":"dp (group 513)"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":2,"args":{"sort_index":2}},
{"ph":"M","name":"thread_name","pid":1,"tid":3,"args":{"name":"tp"}},
{"ph":"M","name":"thread_sort_index","pid":1,"tid":3,"args":{"sort_index":3}},
{"ph":"X","name":"pack bucket 0","pid":1,"tid":1,"cat":"packing","ts":0,"dur":0.02,"args":{"task":1,)json" +
        gather + R"json(}},
{"ph":"X","name":"all_gather x2, bucket 0","pid":1,"tid":2,"cat":"collective","ts":0.02,"dur":2,"args":{"task":1,)json" +
        gather +
        R"json(,"exposed_ns":1000,"members":[1,2]}},
{"ph":"X","name":"mm_1","pid":1,"tid":1,"cat":"compute","ts":0.02,"dur":1,)json"
        R"json("args":{"task":3,"op":"mm","bytes_out":60}},
{"ph":"X","name":"stall: wait_1","pid":1,"tid":1,"cat":"exposed wait","ts":1.02,"dur":1,)json"
        R"json("args":{"task":4,"op":"wait","for":1,"bucket":0}},
{"ph":"X","name":"unpack bucket 0","pid":1,"tid":1,"cat":"packing","ts":2.02,"dur":0.04,"args":{"task":1,)json" +
        gather +
        R"json(}},
{"ph":"X","name":"reduce","pid":1,"tid":3,"cat":"collective","ts":2.06,"dur":1.3,"args":{"task":5,"op":"reduce.op",)json"
        R"json("collective":"all_reduce","group":"tp","bytes_in":60,"bytes_out":60,"dtype":"bf16","exposed_ns":300}},
{"ph":"X","name":"mm_2","pid":1,"tid":1,"cat":"compute","ts":2.06,"dur":1,)json"
        R"json("args":{"task":7,"op":"mm","bytes_out":60}},
{"ph":"X","name":"stall: wait_3","pid":1,"tid":1,"cat":"exposed wait","ts":3.06,"dur":0.3,)json"
        R"json("args":{"task":8,"op":"wait","for":5}},
)json";
    CHECK(text.substr(0, expected.size()) == expected);
    const std::string memory = text.substr(std::min(text.size(), expected.size()));
    CHECK(memory.substr(0, memory.find('\n')) ==
          R"({"ph":"C","name":"memory","pid":1,"tid":0,"ts":0,"args":{"bytes":100}},)");
    CHECK(memory.substr(memory.find("\n]")) ==
          "\n],\"otherData\":{\"graph\":\"two "
          "products\",\"end_to_end_ns\":3360,\"compute_ns\":2000,\"packing_ns\":60,"
          "\"communication_ns\":3300,\"exposed_ns\":1300,\"hidden_ns\":2000,\"peak_bytes\":" +
              std::to_string(all.line.peak.count()) + ",\"slices_left_out\":0}}\n");
  }

  TEST_CASE("arrows lead from every launch to its collective and on to its waits") {
    const small_timeline all = two_products();
    const viewer seen(sw::chrome_trace(all.graph, all.schedule, all.line));
    const std::set<std::tuple<std::string, std::int64_t, std::int64_t>> expected = {
        {"launch", 1, 1}, {"launch", 2, 1}, {"wait", 1, 4}, {"wait", 1, 6}, {"launch", 5, 5}, {"wait", 5, 8}};
    CHECK(seen.arrow_tasks() == expected);
  }

  TEST_CASE("of random schedules: sums are the timeline's, arrows and memory are complete") {
    std::size_t drawn = 0;
    for (std::uint64_t seed = 0; seed < shardweave_test::sized(60U, 15U); ++seed) {
      CAPTURE(seed);
      const sw::task_graph g = random_tasks(seed, {.blocks = 20});
      sw::random_source random(seed);
      sw::schedule s;
      s.buckets = sw::greedy{}(g).buckets;
      s.order = random_order(g, s.buckets, random);
      if (s.order.empty()) continue;
      const sw::timeline line = sw::simulate(g, s, {.memory_samples = true});
      const std::string text = sw::chrome_trace(g, s, line);
      CHECK(text == sw::chrome_trace(g, s, line));
      const viewer seen(text);
      CHECK(seen.tracks.size() == g.groups().size() + 1);
      CHECK(seen.sum("compute") == line.compute.count());
      CHECK(seen.sum("exposed wait") == line.exposed.count());
      CHECK(seen.sum("packing") == line.packing.count());
      CHECK(seen.sum("collective") == line.communication.count());
      CHECK(seen.other.at("end_to_end_ns").as_int64() == line.end_to_end.count());

      std::vector<sw::task_index> leader(g.size());
      for (sw::task_index t = 0; t < g.size(); ++t) leader[t] = t;
      for (const sw::bucket& b : s.buckets)
        for (const sw::task_index t : b.members) leader[t] = b.members.front();
      std::set<std::tuple<std::string, std::int64_t, std::int64_t>> expected;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        if (g.is_collective(t)) expected.emplace("launch", t, leader[t]);
        if (g.completes(t) != sw::no_index) expected.emplace("wait", leader[g.completes(t)], t);
      }
      CHECK(seen.arrow_tasks() == expected);
      for (const auto& [id, a] : seen.arrows)
        if (a.name == "wait") CHECK(seen.slices[a.from].category == "collective");

      // the counter holds what was sampled last, from sample to sample
      std::int64_t most = 0;
      for (const auto& [at, bytes] : seen.memory) most = std::max(most, bytes);
      std::int64_t sampled = 0;
      for (const sw::memory_sample& m : line.memory) sampled = std::max(sampled, m.live.count());
      CHECK(most == sampled);
      CHECK(seen.memory.back().second == line.memory.back().live.count());
      ++drawn;
    }
    CHECK(drawn > shardweave_test::sized(40U, 10U));
  }

  TEST_CASE("a real backward pass: the trace sums to its timeline and stays small") {
    const auto path = shared_data("tasks/llama3-8b-bw-64-2d.json.gz");
    if (!path) return;
    const sw::task_graph g = sw::read_task_graph(*path);
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
    const sw::timeline line = sw::simulate(g, {.memory_samples = true});
    const std::string text = sw::chrome_trace(g, s, line);
    CHECK(text.size() < 300 * g.size());
    const viewer seen(text);
    CHECK(seen.tracks.size() == 3);
    CHECK(seen.sum("compute") == line.compute.count());
    CHECK(seen.sum("exposed wait") == line.exposed.count());
    CHECK(seen.sum("collective") == line.communication.count());
  }

  TEST_CASE("names are escaped, whatever they hold") {
    const std::string name = "a\"b\\c\n</script>\x01 \xC3\xA4";
    const small_timeline all = two_products(name);
    viewer seen(sw::chrome_trace(all.graph, all.schedule, all.line));
    CHECK(seen.process == name);
    CHECK(seen.other.at("graph").as_string() == name);
    CHECK(seen.tracks == std::map<std::int64_t, std::string>{{1, "compute"}, {2, "dp (group 513)"}, {3, "tp"}});
    const viewer other(sw::chrome_trace(all.graph, all.schedule, all.line, {.process = "rank \xFF", .process_id = 9}));
    CHECK(other.process == "rank \xEF\xBF\xBD");
    CHECK(other.processes == std::set<std::int64_t>{9});
  }

  TEST_CASE("an empty graph is an empty trace that still opens") {
    const small_timeline none = no_tasks();
    const viewer seen(sw::chrome_trace(none.graph, none.schedule, none.line));
    CHECK(seen.slices.empty());
    CHECK(seen.arrows.empty());
    CHECK(seen.memory.empty());
    CHECK(seen.tracks == std::map<std::int64_t, std::string>{{1, "compute"}});
  }

  TEST_CASE("tasks that take no time are drawn when asked for") {
    const small_timeline all = two_products();
    const viewer with(sw::chrome_trace(all.graph, all.schedule, all.line, {.zero_length_tasks = true}));
    const viewer without(sw::chrome_trace(all.graph, all.schedule, all.line));
    CHECK(with.slices.size() == without.slices.size() + 2);  // the input and the output
  }

  TEST_CASE("beyond the limit the longest slices are kept, and the file says what is missing") {
    const sw::task_graph g = random_tasks(3, {.blocks = 400});
    const sw::timeline line = sw::simulate(g, {.memory_samples = true});
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
    const viewer full(sw::chrome_trace(g, s, line));
    REQUIRE(full.slices.size() > 500);
    CHECK(full.other.at("slices_left_out").as_int64() == 0);
    for (const std::size_t most : {0U, 1U, 7U, 100U, 500U}) {
      const viewer seen(sw::chrome_trace(g, s, line, {.max_slices = most}));
      CHECK(seen.slices.size() <= most);
      CHECK(seen.memory.size() <= std::max<std::size_t>(most, 1));
      std::size_t take_time = 0, drawn_take_time = 0;
      std::vector<std::int64_t> lengths;
      for (const auto& slice : full.slices) {
        take_time += slice.end > slice.start;
        lengths.push_back(slice.end - slice.start);
      }
      std::sort(lengths.rbegin(), lengths.rend());
      std::int64_t sum = 0, longest = 0;
      for (const auto& slice : seen.slices) {
        drawn_take_time += slice.end > slice.start;
        sum += slice.end - slice.start;
      }
      for (std::size_t i = 0; i < most; ++i) longest += lengths[i];
      CHECK(sum == longest);
      CHECK(seen.other.at("slices_left_out").as_int64() == static_cast<std::int64_t>(take_time - drawn_take_time));
    }
  }

  TEST_CASE("spans of a measured timeline that overlap go to further tracks of their channel") {
    small_timeline all = two_products();
    all.line.start[3] = sw::nanoseconds(10);  // begins while the bucket is packed
    all.line.start[7] = sw::nanoseconds(3000);
    all.line.end[7] = sw::nanoseconds(3200);  // ends when the next wait has begun
    const viewer seen(sw::chrome_trace(all.graph, all.schedule, all.line));
    CHECK(seen.tracks.at(4) == "compute, lane 2");
    CHECK(seen.tracks.size() == 4);
  }

  TEST_CASE("a stall that begins before its collective still has its arrow forward in time") {
    sw::task_graph_builder b;
    const auto group = b.add_group({.id = 0, .name = "dp", .size = 2});
    std::vector<sw::task_index> started;
    for (const char* name : {"first", "second"})
      started.push_back(
          b.add_task({.name = name,
                      .kind = sw::task_kind::collective,
                      .duration = sw::nanoseconds(100),
                      .collective = sw::collective_record{sw::collective::all_reduce, group, {}, {}, "", ""}}));
    b.add_task({.name = "w", .kind = sw::task_kind::wait, .completes = started[1]});
    const sw::task_graph g = std::move(b).build();
    sw::schedule s;
    s.order = {0, 1, 2};
    const viewer seen(sw::chrome_trace(g, s, sw::simulate(g)));
    CHECK(seen.arrow_tasks().count({"wait", 1, 2}) == 1);
    CHECK(seen.sum("exposed wait") == 200);
  }

  TEST_CASE("a sink gets the same text in pieces, and what it throws ends the report") {
    const sw::task_graph g = random_tasks(11, {.blocks = 500});
    sw::schedule s;
    for (sw::task_index t = 0; t < g.size(); ++t) s.order.push_back(t);
    const sw::timeline line = sw::simulate(g);
    std::string all;
    std::size_t pieces = 0;
    sw::write_chrome_trace(
        [&](std::string_view piece) {
          all += piece;
          ++pieces;
          CHECK(piece.size() < 80'000);
        },
        g, s, line);
    CHECK(all == sw::chrome_trace(g, s, line));
    CHECK(pieces > 2);
    CHECK_THROWS_WITH_AS(
        sw::write_chrome_trace([](std::string_view) { throw std::runtime_error("disk is full"); }, g, s, line),
        "disk is full", std::runtime_error);
  }

  TEST_CASE("a wait that names no collective has no arrow, and is drawn only if it takes time") {
    sw::task_graph_builder b;
    b.add_task({.name = "product", .kind = sw::task_kind::compute, .duration = sw::nanoseconds(5)});
    b.add_task({.name = "free wait", .kind = sw::task_kind::wait, .inputs = {0}});
    const sw::task_graph g = std::move(b).build();
    sw::schedule s;
    s.order = {0, 1};
    const viewer seen(sw::chrome_trace(g, s, sw::simulate(g)));
    CHECK(seen.slices.size() == 1);
    CHECK(seen.arrows.empty());
  }

  TEST_CASE("a collective that nothing waits for has a launch, and a tail") {
    sw::task_graph_builder b;
    const auto group = b.add_group({.id = 0, .name = "dp", .size = 2});
    b.add_task({.name = "lonely",
                .kind = sw::task_kind::collective,
                .duration = sw::nanoseconds(100),
                .collective = sw::collective_record{sw::collective::all_reduce, group, {}, {}, "", ""}});
    const sw::task_graph g = std::move(b).build();
    sw::schedule s;
    s.order = {0};
    const viewer seen(sw::chrome_trace(g, s, sw::simulate(g)));
    CHECK(seen.arrow_tasks() == std::set<std::tuple<std::string, std::int64_t, std::int64_t>>{{"launch", 0, 0}});
    CHECK(seen.sum("collective") == 100);
    CHECK(seen.other.at("end_to_end_ns").as_int64() == 100);
    CHECK(seen.slices.back().arguments.at("exposed_ns").as_int64() == 0);
  }

  TEST_CASE("a timeline of another graph is refused before anything is written") {
    const small_timeline all = two_products();
    std::size_t pieces = 0;
    CHECK_THROWS_WITH_AS(
        sw::write_chrome_trace([&](std::string_view) { ++pieces; }, all.graph, all.schedule, sw::timeline{}),
        "the timeline has 0 start times, expected one for each of 10 tasks", sw::error);
    CHECK(pieces == 0);
  }

  TEST_CASE("times are written to the nanosecond") {
    const auto text = [](std::int64_t ns) {
      std::string out;
      sw::detail::append_microseconds(out, sw::nanoseconds(ns));
      return out;
    };
    CHECK(text(0) == "0");
    CHECK(text(7) == "0.007");
    CHECK(text(70) == "0.07");
    CHECK(text(700) == "0.7");
    CHECK(text(123'456'789'012) == "123456789.012");
    CHECK(text(-1'050) == "-1.05");
    CHECK(text(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775.808");
  }
}

}  // namespace chrome_trace_tests
