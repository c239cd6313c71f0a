#include <shardweave/core/error.hpp>
#include <shardweave/cost/nccl_filter.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>

namespace nccl_filter_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("nccl_filter") {
  TEST_CASE("lists allow, inverted lists forbid, and an operation's list speaks of that operation") {
    struct row {
      const char *algorithms, *protocols;
      nccl_operation operation;
      const char *allowed_algorithms, *allowed_protocols;  // letters: t r d c n N p, and l 1 s
    };
    using enum nccl_operation;
    for (const row& r :
         {row{"", "", all_reduce, "trdcnNp", "l1s"}, row{"ring", "", broadcast, "r", "l1s"},
          row{"RING,Tree", "ll128,SIMPLE", reduce, "tr", "1s"}, row{"^ring", "^ll", all_gather, "tdcnNp", "1s"},
          row{"^nvls,nvlstree,pat", "", all_reduce, "trdc", "l1s"},
          row{"collnetdirect,collnet_chain", "", all_reduce, "dc", "l1s"},
          row{"ring;allreduce:tree", "", all_reduce, "t", "l1s"},
          row{"ring;allreduce:tree", "", all_gather, "r", "l1s"},
          row{"allreduce:^tree,ring", "allgather:ll", all_reduce, "dcnNp", "l1s"},
          row{"allreduce:^tree,ring", "allgather:ll", all_gather, "trdcnNp", "l"},
          row{"AllReduce:tree;allreduce:ring", "", all_reduce, "r", "l1s"},
          row{"^", "^", reduce_scatter, "trdcnNp", "l1s"}, row{"reducescatter:", "", reduce_scatter, "", "l1s"}}) {
      const nccl_filter filter(r.algorithms, r.protocols);
      CAPTURE(std::string(r.algorithms));
      std::string algorithms, protocols;
      for (std::size_t a = 0; a < nccl_algorithm_count; ++a)
        if (filter.allows(r.operation, static_cast<nccl_algorithm>(a))) algorithms += "trdcnNp"[a];
      for (std::size_t p = 0; p < nccl_protocol_count; ++p)
        if (filter.allows(r.operation, static_cast<nccl_protocol>(p))) protocols += "l1s"[p];
      CHECK(algorithms == r.allowed_algorithms);
      CHECK(protocols == r.allowed_protocols);
    }
    CHECK(nccl_filter() == nccl_filter("^", "ll,ll128,simple"));
    CHECK_FALSE(nccl_filter() == nccl_filter("", "ll"));
  }

  TEST_CASE("unknown words are refused with the variable and the words that it knows") {
    CHECK_THROWS_WITH_AS(nccl_filter("", "LL64"), "NCCL_PROTO names 'll64', which is none of ll, ll128, simple", error);
    CHECK_THROWS_WITH_AS(nccl_filter("alltoall:ring"),
                         "NCCL_ALGO names 'alltoall', which is none of broadcast, reduce, allgather, reducescatter, "
                         "allreduce",
                         error);
    CHECK_THROWS_WITH_AS(nccl_filter("ring,,tree"),
                         "NCCL_ALGO names '', which is none of tree, ring, collnetdirect, collnetchain, nvls, "
                         "nvlstree, pat",
                         error);
    CHECK_THROWS_WITH_AS(nccl_filter("allreduce:ring;tree"),
                         "NCCL_ALGO lacks the operation before 'tree'; only its first part may", error);
  }
}

}  // namespace nccl_filter_tests
