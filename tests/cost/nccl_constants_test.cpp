#include <shardweave/cost/collective.hpp>
#include <shardweave/cost/nccl_constants.hpp>
#include <shardweave/cost/nccl_filter.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cstddef>
#include <string>
#include <vector>

namespace nccl_constants_tests {
namespace {

using namespace shardweave;

}  // namespace

TEST_SUITE("nccl_constants") {
  TEST_CASE("words are those of NCCL's files and environment, one for each") {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < nccl_algorithm_count; ++i) words.emplace_back(name_of(static_cast<nccl_algorithm>(i)));
    for (std::size_t i = 0; i < nccl_protocol_count; ++i) words.emplace_back(name_of(static_cast<nccl_protocol>(i)));
    for (std::size_t i = 0; i < nccl_operation_count; ++i) words.emplace_back(name_of(static_cast<nccl_operation>(i)));
    CHECK(words == std::vector<std::string>{"tree", "ring", "collnet_direct", "collnet_chain", "nvls", "nvls_tree",
                                            "pat", "ll", "ll128", "simple", "broadcast", "reduce", "allgather",
                                            "reducescatter", "allreduce"});
    CHECK(name_of(nccl_version::v2_20) == "2.20");
    CHECK(name_of(nccl_version::v2_24) == "2.24");
    CHECK(name_of(nccl_version::v2_27) == "2.27");
    CHECK(name_of(nccl_version::v2_28) == "2.28");
    CHECK(name_of(nccl_version::v2_29) == "2.29");
    CHECK(name_of(nccl_version::v2_30) == "2.30");
    CHECK(nccl_operation_of(collective::all_gather) == nccl_operation::all_gather);
    CHECK(nccl_operation_of(collective::reduce_scatter) == nccl_operation::reduce_scatter);
    CHECK(nccl_operation_of(collective::all_reduce) == nccl_operation::all_reduce);
    CHECK_FALSE(nccl_operation_of(collective::all_to_all).has_value());
    CHECK_FALSE(nccl_operation_of(collective::shift).has_value());
  }

  TEST_CASE("figures changed with the releases that changed them, and with no other") {
    using enum nccl_version;
    constexpr std::array all{v2_20, v2_24, v2_27, v2_28, v2_29, v2_30};
    const auto figure = [&](auto read) {
      std::array<double, all.size()> found{};
      for (std::size_t i = 0; i < all.size(); ++i) found[i] = static_cast<double>(read(nccl_constants::of(all[i])));
      return found;
    };
    using row = std::array<double, all.size()>;
    const auto at = [](nccl_algorithm a) { return static_cast<std::size_t>(a); };
    const std::size_t tree = at(nccl_algorithm::tree), ring = at(nccl_algorithm::ring), nvls = at(nccl_algorithm::nvls),
                      nvls_tree = at(nccl_algorithm::nvls_tree);
    constexpr std::size_t simple = 2, hopper = 2, blackwell = 3;
    CHECK(figure([&](const auto& c) { return c.base[tree][simple]; }) == row{0, 8.4, 8.4, 8.4, 8.4, 8.4});
    CHECK(figure([&](const auto& c) { return c.link_hop[tree][simple]; }) == row{28, 4, 4, 4, 4, 4});
    CHECK(figure([&](const auto& c) { return c.pci_hop[tree][simple]; }) == row{28, 4, 4, 4, 4, 4});
    CHECK(figure([&](const auto& c) { return c.network_hop[tree][simple]; }) == row{28, 14, 14, 14, 14, 14});
    CHECK(figure([&](const auto& c) { return c.network_hop[ring][simple]; }) == row{14, 14, 14, 14, 14, 14});
    CHECK(figure([&](const auto& c) { return c.network_hop[nvls_tree][simple]; }) == row{14, 14, 14, 20.9, 20.9, 20.9});
    CHECK(figure([&](const auto& c) { return c.link_hop[nvls][simple]; }) == row{23, 25, 25, 25, 25, 25});
    CHECK(figure([&](const auto& c) { return c.link_hop[nvls_tree][simple]; }) == row{23, 25, 25, 25, 25, 25});
    CHECK(figure([&](const auto& c) { return c.ll_one_node[hopper]; }) == row{87.7, 141, 141, 141, 141, 141});
    CHECK(figure([&](const auto& c) { return c.ll_one_node[blackwell]; }) == row{87.7, 282, 282, 282, 282, 282});
    CHECK(figure([&](const auto& c) { return c.ring_ll128[hopper][1]; }) == row{36.7, 36.7, 36.7, 36.7, 36.7, 36.7});
    CHECK(figure([&](const auto& c) { return c.ring_ll128[blackwell][0]; }) == row{73.4, 73.4, 73.4, 73.4, 40, 40});
    CHECK(figure([&](const auto& c) { return c.ring_ll128[blackwell][1]; }) == row{34.6, 34.6, 34.6, 34.6, 40, 40});
    CHECK(figure([&](const auto& c) { return c.nvls_tree[blackwell][2]; }) == row{43.8, 43.8, 43.8, 43.8, 43.8, 80});
    CHECK(figure([&](const auto& c) { return c.nvls_tree[hopper][2]; }) == row{45.5, 45.5, 45.5, 45.5, 45.5, 45.5});
    CHECK(figure([&](const auto& c) { return c.nvls_share; }) == row{5.0 / 6, 5.0 / 6, 5.0 / 6, 0, 0, 0});
    CHECK(figure([&](const auto& c) { return c.pat_share; }) == row{.85, .85, .75, .75, .75, .75});
    CHECK(figure([&](const auto& c) { return c.ring_ll_share; }) == row{.25, .5, .5, .5, .5, .5});
    CHECK(figure([&](const auto& c) { return c.ring_ll_share_gathering; }) == row{1.0 / 3, .5, .5, .5, .5, .5});
    CHECK(figure([&](const auto& c) { return c.lone_ll128_share; }) == row{.7, .92, .92, .92, .92, .92});
    CHECK(figure([&](const auto& c) { return c.steps_back; }) == row{0, 1, 1, 1, 1, 1});
    CHECK(figure([&](const auto& c) { return c.lone_rank_pays_tree_hop; }) == row{0, 1, 1, 1, 1, 1});
    CHECK(figure([&](const auto& c) { return c.corrects_nvls_tree; }) == row{0, 0, 0, 0, 1, 1});
    CHECK(figure([&](const auto& c) { return c.plateau; }) == row{1.4, 1.4, 1.4, 1.4, 1.4, 1.4});
    CHECK(figure([&](const auto& c) { return c.plateau_volta; }) == row{1.9, 1.9, 1.9, 1.9, 1.9, 1.9});
    CHECK(figure([&](const auto& c) { return c.version; }) == row{0, 1, 2, 3, 4, 5});
  }

  TEST_CASE("shares of bandwidth lie between 0 and 1, and Simple posts to a network three times as slowly") {
    const nccl_constants c;
    for (const auto& row : c.tree_correction)
      for (const double share : row) {
        CHECK(share > 0);
        CHECK(share <= 1);
      }
    CHECK(c.network_overhead == nccl_constants::by_protocol{1, 1, 3});
    for (const double e : c.nvls_efficiency) CHECK((e >= 0 && e < 1));
  }
}

}  // namespace nccl_constants_tests
