#include <shardweave/report/reason_text.hpp>
#include <shardweave/tasks/schedule_types.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>

namespace reason_text_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("reason_text") {
  TEST_CASE("every reason has words of its own") {
    std::set<std::string_view> words;
    for (std::uint8_t r = 0; r <= static_cast<std::uint8_t>(sw::decision_reason::overlap); ++r)
      words.insert(sw::reason_text(static_cast<sw::decision_reason>(r)));
    CHECK(words.size() == std::size_t{static_cast<std::uint8_t>(sw::decision_reason::overlap)} + 1);
    CHECK(!words.contains(""));
  }

  TEST_CASE("a reason is a clause, longer than its name in files") {
    for (std::uint8_t r = 0; r <= static_cast<std::uint8_t>(sw::decision_reason::overlap); ++r) {
      const auto reason = static_cast<sw::decision_reason>(r);
      const std::string_view words = sw::reason_text(reason);
      CAPTURE(std::string(words));
      CHECK(words.find(' ') != std::string_view::npos);
      CHECK(words.front() >= 'a');
      CHECK(words.front() <= 'z');
      CHECK(words.back() != '.');
      CHECK(words != sw::to_string(reason));
    }
    CHECK(sw::reason_text(sw::decision_reason::no_wait) == "nothing waits for it");
  }
}

}  // namespace reason_text_tests
