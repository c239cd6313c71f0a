#include "io/nccl_texts.hpp"
#include "support/nccl_rules_text.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/cost/nccl_rule.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace read_nccl_rules_tests {
namespace {

using namespace shardweave;
using namespace nccl_texts;
namespace sw = shardweave;

}  // namespace

TEST_SUITE("read_nccl_rules") {
  TEST_CASE("rows are read in their order, and written to what is read again") {
    const nccl_rules rules = read_nccl_rules(nccl_corpus("nccl_rules/small.conf"));
    REQUIRE(rules.size() == 4);
    CHECK(rules[0] == nccl_rule{.operation = nccl_operation::all_reduce,
                                .least = 0,
                                .most = 65536,
                                .algorithm = nccl_algorithm::tree,
                                .protocol = nccl_protocol::ll,
                                .channels = 2,
                                .nodes = 1,
                                .ranks = 8});
    CHECK(rules[2].merged == 1);
    CHECK(rules[2].registered == 0);
    CHECK(rules_of(shardweave_test::nccl_rules_text(rules)) == rules);
    CHECK(rules_of("# nothing\n\n   \n").empty());
  }

  TEST_CASE("what the plugin would misread in silence is refused") {
    const std::string operations = "broadcast, reduce, allgather, reducescatter, allreduce";
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"\nAllReduce,0,1,ring,ll,1,1,1", "t.conf: line 2: collective 'AllReduce' is none of " + operations},
        {"allreduce,0,1,rings,ll,1,1,1",
         "t.conf: line 1: algorithm 'rings' is none of tree, ring, collnet_direct, collnet_chain, nvls, nvls_tree, "
         "pat"},
        {"allreduce,0,1,ring,LL,1,1,1", "t.conf: line 1: protocol 'LL' is none of ll, ll128, simple"},
        {"allreduce,-1,1,ring,ll,1,1,1", "t.conf: line 1: min_bytes '-1' is not a whole number from 0 on"},
        {"allreduce,0,1e6,ring,ll,1,1,1", "t.conf: line 1: max_bytes '1e6' is not a whole number from 0 on"},
        {"allreduce,0,1,ring,ll,-2,1,1", "t.conf: line 1: channels '-2' is not a whole number from -1 on"},
        {"allreduce,5,4,ring,ll,1,1,1", "t.conf: line 1: max_bytes 4 is less than min_bytes 5"},
        {"allreduce,0,1,ring,ll,1,1", "t.conf: line 1: has 7 fields; 8 to 10 were expected"},
        {"allreduce,0,1,ring,ll,1,1,1,1,1,1", "t.conf: line 1: has 11 fields; 8 to 10 were expected"},
        {std::string(256, ' '), "t.conf: line 1: is longer than 255 characters"},
    };
    for (const auto& [text, message] : wrong) {
      CAPTURE(text);
      CHECK_THROWS_WITH_AS(rules_of(text), message.c_str(), error);
    }
  }

  TEST_CASE("random rows read back, whatever their numbers, and headings and comments are passed over") {
    sw::random_source random(5);
    sw::nccl_rules rules;
    const auto any = [&](std::int64_t least) {
      return random.chance(0.3) ? least : static_cast<std::int64_t>(random() >> 1U);
    };
    for (int i = 0; i < 100; ++i) {
      sw::nccl_rule r;
      r.operation = static_cast<sw::nccl_operation>(random.below(5));
      r.algorithm = static_cast<sw::nccl_algorithm>(random.below(7));
      r.protocol = static_cast<sw::nccl_protocol>(random.below(3));
      r.least = any(0) / 2;
      r.most = r.least + any(0) / 2;
      r.channels = any(-1) % 1025;
      r.nodes = any(-1);
      r.ranks = any(-1);
      r.merged = any(-1);
      r.registered = any(-1);
      rules.push_back(r);
    }
    const std::string text = "collective,min_bytes,max_bytes,algorithm,protocol,channels,nNodes,nRanks\n" +
                             shardweave_test::nccl_rules_text(rules) + "\r\n  # end";
    auto input = sw::text_input::of_memory("T", text, 9);
    CHECK(sw::read_nccl_rules(input) == rules);
  }

  TEST_CASE("no rule has more channels than NCCL could") {
    auto input = sw::text_input::of_memory("T", "allreduce,0,65536,ring,simple,4294967296,-1,-1\n");
    CHECK_THROWS_WITH_AS(static_cast<void>(sw::read_nccl_rules(input)),
                         "T: line 1: channels '4294967296' is more than 1024", sw::error);
  }
}

}  // namespace read_nccl_rules_tests
