#include "io/refused.hpp"
#include "io/small_tasks_file.hpp"
#include "io/written_texts.hpp"
#include <shardweave/io/schedule.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/content_hash.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace schedule_tests {
namespace {

namespace sw = shardweave;
namespace json = boost::json;
using namespace small_tasks_files;
using namespace written_texts;

}  // namespace

TEST_SUITE("shardweave.schedule") {
  TEST_CASE("a schedule reads back the same, and replays to the same timeline") {
    const sw::task_graph g = read(small);
    const sw::schedule s = small_schedule();
    const sw::schedule again = read_back(written(g, s), g);
    CHECK(again == s);
    CHECK(sw::simulate(g, again) == sw::simulate(g, s));
    sw::schedule coalesced = s;
    for (sw::bucket& b : coalesced.buckets) b.coalesced = true;
    CHECK(read_back(written(g, coalesced), g) == coalesced);
  }

  TEST_CASE("the order is all that a file needs") {
    const sw::task_graph g = read(small);
    const sw::schedule s =
        read_back(R"({"format": "shardweave.schedule", "version": 1, "order": [0, 1, 2, 3, 4, 5, 6]})", g);
    CHECK(s.order.size() == 7);
    CHECK(s.buckets.empty());
  }

  TEST_CASE("the hash tells graphs apart that differ in one number") {
    const sw::task_graph g = read(small);
    CHECK(sw::content_hash_text(g) == sw::content_hash_text(read(small)));
    CHECK(sw::content_hash_text(g).size() == 16);
    CHECK(sw::content_hash_text(g) !=
          sw::content_hash_text(read(changed(small, "\"duration\": 7", "\"duration\": 8"))));
  }

  TEST_CASE("a schedule of another graph, or one that is not valid, is refused in one line") {
    const sw::task_graph g = read(small);
    const std::string good = written(g, small_schedule());
    const auto wrong = [&](const std::string& text) { return refused([&] { return read_back(text, g); }); };
    CHECK(wrong(good).empty());
    const sw::task_graph other = read(changed(small, "\"duration\": 7", "\"duration\": 8"));
    CHECK(refused([&] { return read_back(good, other); })
              .ends_with("graph is 'small' with hash " + sw::content_hash_text(g) + ", expected 'small' with hash " +
                         sw::content_hash_text(other)));
    CHECK(wrong(changed(good, "[0,1,2,3,5,4,6]", "[0,1,2,3,5,4]")) ==
          "S: the order lists 6 tasks, expected each of 7 once");
    CHECK(wrong(changed(good, "\"channel\":521", "\"channel\":3"))
              .ends_with("buckets[0].channel is 3, expected the id of a process group"));
    CHECK(wrong(changed(good, "\"collective\":1,", "\"collective\":7,")) ==
          "S: hides[0] names task 7, but there are only 7");
    CHECK(wrong(changed(good, "\"behind\":[3]", "\"behind\":[3,99]")) ==
          "S: hides[0] names task 99, but there are only 7");
    CHECK(wrong(changed(good, "\"subject\":", "\"subject\":9")).starts_with("S: decisions[0] names task 9"));
    CHECK(wrong(changed(good, "byte_cap", "boredom"))
              .ends_with("decisions[0].reason is \"boredom\", expected the name of a reason"));
    CHECK(wrong(changed(good, "[[3,5]]", "[[3,5,6]]"))
              .ends_with("after[0] has 3 numbers, expected 2 tasks: earlier, later"));
    for (std::size_t size = 0; size + 1 < good.size(); size += 3) CHECK(is_one_line(wrong(good.substr(0, size))));
  }

  TEST_CASE("a schedule is written with the hash of its graph, and amounts only where they are known") {
    const sw::task_graph g = two_tasks();
    sw::schedule s;
    s.order = {0, 1};
    s.buckets = {{.members = {1}, .channel = 0, .bytes_in = sw::bytes(8), .bytes_out = sw::bytes(32)}};
    s.after = {{0, 1}};
    s.hides = {{.collective = 1, .behind = {}, .hidden = sw::nanoseconds(0), .exposed = sw::nanoseconds(9)}};
    s.decisions = {{.reason = sw::decision_reason::distance_limit, .subject = 1, .other = 0, .found = 3, .limit = 0},
                   {.reason = sw::decision_reason::dependency, .subject = 0}};
    s.statistics = {{"moves", 2.5}};
    CHECK(text_by([&](sw::json_writer& out) { sw::write_schedule(out, g, s); }) ==
          "{\"format\":\"shardweave.schedule\",\"version\":1,\n\"graph\":{\"name\":\"two\",\"hash\":\"" +
              sw::content_hash_text(g) + R"("},
"order":[0,1],
"buckets":[
{"members":[1],"channel":7,"bytes_in":8,"bytes_out":32}],
"after":[[0,1]],
"hides":[
{"collective":1,"behind":[],"hidden":0,"exposed":9}],
"decisions":[
{"reason":"distance_limit","subject":1,"other":0,"found":3,"limit":0},
{"reason":"dependency","subject":0}],
"statistics":{"moves":2.5},"within_memory":true}
)");
  }

  TEST_CASE("statistics without a number are written as null and left out when read") {
    const sw::task_graph g = two_tasks();
    sw::schedule s;
    s.order = {0, 1};
    s.statistics = {{"gap", endless}, {"moves", 3}, {"share", std::nan("")}};
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_schedule(out, g, s); });
    CHECK(text.find(R"("statistics":{"gap":null,"moves":3,"share":null})") != std::string::npos);
    auto input = sw::text_input::of_memory("T", text);
    const sw::schedule again = sw::read_schedule(input, g, {.strict = true});
    CHECK(again.statistics == std::vector<sw::statistic>{{"moves", 3}});
  }

  TEST_CASE("every reason has a name that reads back") {
    const sw::task_graph g = two_tasks();
    sw::schedule s;
    s.order = {0, 1};
    for (int r = 0; r <= static_cast<int>(sw::decision_reason::overlap); ++r)
      s.decisions.push_back({.reason = static_cast<sw::decision_reason>(r), .subject = 1, .limit = r});
    const std::string text = text_by([&](sw::json_writer& out) { sw::write_schedule(out, g, s); });
    auto input = sw::text_input::of_memory("T", text);
    CHECK(sw::read_schedule(input, g).decisions == s.decisions);
  }
}

}  // namespace schedule_tests
