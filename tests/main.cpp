#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>
#include <support/skipped.hpp>

#include <cstddef>
#include <cstdlib>
#include <ostream>

namespace {

/// Test cases that made no check and did not say that they are skipped. Those that only another one runs (decorated
/// `skip`) may do without: that one checks.
std::size_t without_checks = 0;

class checks_are_made : public doctest::IReporter {
 public:
  explicit checks_are_made(const doctest::ContextOptions& options) : out_(*options.cout) {}

  void test_case_start(const doctest::TestCaseData& present) override {
    present_ = &present;
    skips_before_ = shardweave_test::skips;
  }
  void test_case_end(const doctest::CurrentTestCaseStats& stats) override {
    const bool said = shardweave_test::skips > skips_before_;
    if (stats.numAssertsCurrentTest > 0 || stats.failure_flags != 0 || said || present_->m_skip) return;
    ++without_checks;
    out_ << present_->m_file << ":" << present_->m_line << ": ERROR: test case '" << present_->m_name
         << "' checks nothing and does not say that it is skipped\n";
  }

  void report_query(const doctest::QueryData&) override {}
  void test_run_start() override {}
  void test_run_end(const doctest::TestRunStats&) override {}
  void test_case_reenter(const doctest::TestCaseData&) override {}
  void test_case_exception(const doctest::TestCaseException&) override {}
  void subcase_start(const doctest::SubcaseSignature&) override {}
  void subcase_end() override {}
  void log_assert(const doctest::AssertData&) override {}
  void log_message(const doctest::MessageData&) override {}
  void test_case_skipped(const doctest::TestCaseData&) override {}

 private:
  std::ostream& out_;
  const doctest::TestCaseData* present_ = nullptr;
  std::size_t skips_before_ = 0;
};
DOCTEST_REGISTER_LISTENER("checks_are_made", 1, checks_are_made);

}  // namespace

int main(int argc, char** argv) {
  const int failed = doctest::Context(argc, argv).run();
  return failed != 0 || without_checks == 0 ? failed : EXIT_FAILURE;
}
