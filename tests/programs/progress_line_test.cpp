#include "../../examples/support/progress_line.hpp"

#include <shardweave/core/control.hpp>

#include <doctest/doctest.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace progress_line_tests {
namespace {

/// Lines as they are written.
class notebook {
 public:
  [[nodiscard]] programs::progress_settings settings(bool live = false) {
    return {.live = live, .interval = 0.01, .write = [this](const std::string& text) {
              const std::scoped_lock lock(guard_);
              lines_.push_back(text);
            }};
  }
  /// The next line that is written from now on.
  [[nodiscard]] std::string next() {
    const std::size_t before = lines().size();
    while (lines().size() < before + 2) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    return lines().at(before + 1);
  }
  [[nodiscard]] std::vector<std::string> lines() {
    const std::scoped_lock lock(guard_);
    return lines_;
  }

 private:
  std::mutex guard_;
  std::vector<std::string> lines_;
};

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_SUITE("progress_line") {
  TEST_CASE("a line comes whether work reports or not, and says what is not known yet") {
    notebook told;
    programs::progress_line progress("us", told.settings());
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    CHECK(told.lines().empty());  // nothing has begun
    progress({.stage = "solve", .is_new = true});
    CHECK(told.next().starts_with("solve  "));
    CHECK_FALSE(has(told.next(), "best"));
    progress({.stage = "trws"});
    const std::string nothing = told.next();
    CHECK(nothing.starts_with("solve: trws  "));
    CHECK(nothing.ends_with(" s  best none yet  bound none yet\n"));
    progress({.stage = "trws", .objective = 2e6});
    CHECK(told.next().ends_with("  best 2.00 s  bound none yet\n"));
    progress({.stage = "trws", .objective = 2e6, .lower_bound = 1.6e6, .done = 0.5});
    const std::string all = told.next();
    CHECK(all.ends_with("  best 2.00 s  bound 1.60 s  gap 25.00 %\n"));
    CHECK(has(all, "[==========          ]"));
    for (const std::string& line : told.lines()) CHECK_FALSE(has(line, "inf"));
  }

  TEST_CASE("within a stage the best never rises and the bound never falls; a new stage starts anew") {
    notebook told;
    programs::progress_line progress("", told.settings());
    progress({.stage = "solve", .is_new = true});
    progress({.stage = "a", .objective = 10, .lower_bound = 5});
    progress({.stage = "b", .objective = 12, .lower_bound = 4});
    CHECK(told.next().ends_with("  best 10  bound 5  gap 100.00 %\n"));
    progress({.stage = "b"});
    CHECK(told.next().ends_with("  best 10  bound 5  gap 100.00 %\n"));
    progress({.stage = "b", .objective = 8, .lower_bound = 8.5});  // rounding: no negative gap
    CHECK(told.next().ends_with("  gap 0.0000 %\n"));
    progress({.stage = "schedule", .is_new = true});
    progress({.stage = "search", .objective = 3e6, .unit = "ns"});
    const std::string other = told.next();
    CHECK(other.starts_with("schedule: search  "));
    CHECK(other.ends_with("  best 3.00 ms  bound none yet\n"));
  }

  TEST_CASE("work whose reports speak of several problems is named, no more") {
    notebook told;
    programs::progress_line progress("us", told.settings());
    progress.begin("around");
    progress({.stage = "trws", .objective = 5, .lower_bound = 4});
    const std::string line = told.next();
    CHECK(line.starts_with("around: trws  "));
    CHECK_FALSE(has(line, "best"));
  }

  TEST_CASE("a live line is drawn over and gone at the end") {
    notebook told;
    {
      programs::progress_line progress("us", told.settings(true));
      progress({.stage = "solve", .is_new = true});
      const std::string line = told.next();
      CHECK(line.starts_with("\r\x1b[Ksolve"));
      CHECK_FALSE(line.ends_with("\n"));
    }
    CHECK(told.lines().back() == "\r\x1b[K");
  }

  TEST_CASE("figures with units of time are told as times, others as they are") {
    CHECK(programs::figure_text(302910, "us") == "302.91 ms");
    CHECK(programs::figure_text(1.5e9, "ns") == "1.50 s");
    CHECK(programs::figure_text(123456.5, "") == "123456.5");
    CHECK(programs::figure_text(12, "GB") == "12 GB");
  }
}

}  // namespace progress_line_tests
