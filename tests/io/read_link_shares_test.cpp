#include "io/refused.hpp"
#include <shardweave/io/read_link_shares.hpp>
#include <shardweave/io/text_input.hpp>

#include <doctest/doctest.h>

#include <string>

namespace read_link_shares_tests {
namespace {

namespace sw = shardweave;

}  // namespace

TEST_SUITE("read_link_shares") {
  TEST_CASE("each wrong cell is told with its line") {
    const auto words = [](const std::string& row) {
      return refused([&] {
        const std::string text = "# shares\nnodes,kind,efficiency,size_bytes\n" + row + "\n";
        auto input = sw::text_input::of_memory("T", text, 5);
        return sw::read_link_shares(input);
      });
    };
    CHECK(words("1,nvlink,0.5,8").empty());
    CHECK(words("2,nic,1,8").empty());
    CHECK(words("1,pcie,0.5,8") == "T: line 3: kind is 'pcie', expected nvlink, nic or ata");
    CHECK(words("x,nic,0.5,8") == "T: line 3: nodes is 'x', expected a whole number, not negative");
    CHECK(words("1,nic,0,8") == "T: line 3: efficiency is '0', expected a share in (0, 1]");
    const std::string limits = "T: line 3: expected one node or more, a size that is positive and a share in (0, 1]";
    CHECK(words("1,nic,1.01,8") == limits);
    CHECK(words("0,nic,0.5,8") == limits);
    CHECK(words("1,nic,0.5,0") == limits);
    CHECK(words("1,nic,0.5") == "T: line 3: has 3 cells, expected 4");
    CHECK(words("") == "T: holds no share of a link");
  }
}

}  // namespace read_link_shares_tests
