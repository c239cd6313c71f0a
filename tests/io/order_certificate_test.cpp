#include <shardweave/core/error.hpp>
#include <shardweave/io/order_certificate.hpp>
#include <shardweave/io/placement_certificate.hpp>

#include <doctest/doctest.h>
#include <support/random_order_certificate.hpp>
#include <support/random_tasks.hpp>
#include <support/refusal.hpp>
#include <support/temporary_folder.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace sw = shardweave;

namespace order_certificate_tests {
namespace {

std::string text_of(const sw::order_certificates& c) {
  return sw::json_string([&](sw::json_writer& out) { sw::write_certificate(out, c); });
}
sw::order_certificates read(std::string_view text) {
  auto input = sw::text_input::of_memory("proof.json", text, 1 + text.size() / 2);
  return sw::read_order_certificates(input);
}
std::string refusal_of(std::string_view text) {
  return shardweave_test::refusal_of([&] { return read(text); }, sw::error_category::format);
}

}  // namespace

TEST_SUITE("order_certificate") {
  TEST_CASE("what is written reads back to the same") {
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      sw::order_certificates all{.problem = "random", .of_fused_durations = seed % 2 == 0};
      for (std::uint64_t k = 0; k < 2; ++k)
        all.proofs.push_back(shardweave_test::draw_order_certificate(random_tasks(seed), 2 * seed + k));
      all.proofs[0].lower_bound = sw::nanoseconds(std::int64_t{1} << 60);
      all.proofs[0].buckets = std::vector<sw::bucket>{{.members = {1, 2}, .coalesced = true}, {.members = {3, 7}}};
      const sw::order_certificates again = read(text_of(all));
      CHECK(text_of(again) == text_of(all));
      CHECK(again.of_fused_durations == all.of_fused_durations);
      REQUIRE(again.proofs.size() == 2);
      for (std::size_t k = 0; k < 2; ++k) {
        const sw::order_certificate &was = all.proofs[k], &is = again.proofs[k];
        CHECK(is.lower_bound == was.lower_bound);
        CHECK(is.buckets == was.buckets);
        CHECK(is.together == was.together);
        REQUIRE(is.heads.size() == was.heads.size());
        for (std::size_t i = 0; i < is.heads.size(); ++i) CHECK(is.heads[i].work == was.heads[i].work);
        CHECK(is.tails.size() == was.tails.size());
        REQUIRE(is.row.has_value() == was.row.has_value());
        if (!is.row) continue;
        CHECK(is.row->backward == was.row->backward);
        CHECK(is.row->weights == was.row->weights);
        CHECK(is.row->jobs.size() == was.row->jobs.size());
      }
    }
  }
  TEST_CASE("a file is written and read by its name, and durations are measured unless it says otherwise") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(3);
    const sw::order_certificates all{.problem = g.name, .proofs = {shardweave_test::draw_order_certificate(g, 3)}};
    sw::write_certificate(folder / "proof.json.gz", all);
    CHECK(text_of(sw::read_order_certificates(folder / "proof.json.gz")) == text_of(all));
    CHECK(!read(R"({"format":"shardweave.certificate","version":1,"of":"order","durations":"measured","proofs":[]})")
               .of_fused_durations);
    CHECK_THROWS_AS(static_cast<void>(sw::read_order_certificates(folder / "none.json")), sw::error);
  }
  TEST_CASE("a file of another shape is refused by the place that is wrong") {
    const std::string begin = R"({"format":"shardweave.certificate","version":1,"of":"order")";
    CHECK(refusal_of(begin + "}").find("'proofs'") != std::string::npos);
    CHECK(refusal_of(begin + R"(,"proofs":[{}]})").find("'lower_bound'") != std::string::npos);
    CHECK(refusal_of(begin + R"(,"proofs":[{"lower_bound":1.5}]})").find("proofs[0].lower_bound") != std::string::npos);
    CHECK(refusal_of(begin + R"(,"proofs":[{"lower_bound":1,"heads":[{"activity":-1,"work":[]}]}]})")
              .find("proofs[0].heads[0].activity") != std::string::npos);
    CHECK(refusal_of(begin + R"(,"proofs":[{"lower_bound":1,"row":{"collective":1}}]})").find("'jobs'") !=
          std::string::npos);
    CHECK(refusal_of(begin + R"(,"durations":"guessed","proofs":[]})").find("\"measured\" or \"fused\"") !=
          std::string::npos);
    CHECK(refusal_of(R"({"format":"shardweave.certificate","version":1,"of":"step","proofs":[]})").find("\"order\"") !=
          std::string::npos);
    const std::string no_more = begin + "}";
    auto input = sw::text_input::of_memory("proof.json", no_more, 10);
    CHECK(sw::certificate_subject(input) == "order");
  }
}

}  // namespace order_certificate_tests
