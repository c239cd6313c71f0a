#include "refused.hpp"
#include <shardweave/io/training_runs.hpp>

#include <doctest/doctest.h>
#include <support/shared_data.hpp>

#include <set>
#include <string>
#include <vector>

namespace sw = shardweave;

namespace training_runs_tests {
namespace {

const std::string header =
    "id,date,model,hidden,layers,heads,kv_heads,ffn,vocab,moe,gpu,gpus,gpus_per_node,inter_node_GBps_per_gpu,precision,"
    "seq_len,micro_batch_per_dp_rank,grad_accum,fsdp_or_zero,dp,tp,sp,pp,cp,activation_checkpointing,"
    "compile_or_framework,step_time_s,memory_gib,source,notes\n";

std::vector<sw::training_run> read(const std::string& text) {
  auto input = sw::text_input::of_memory("runs.csv", text, 7);
  return sw::read_training_runs(input);
}

TEST_SUITE("training_runs") {
  TEST_CASE("a row is read, quotes and empty cells included") {
    const auto runs =
        read("# where from\n" + header +
             "tt-1,2024-12,\"L, 8B\",4096,32,32,8,14336,128256,,H100,8,8,50,bf16,8192,2,1,zero3,8,1,yes,1,1,"
             "full,eager,2.5,77.5,page,\"said \"\"so\"\"\"\n"
             "tt-2" +
             std::string(29, ',') + "\n");
    REQUIRE(runs.size() == 2);
    CHECK(runs[0].id == "tt-1");
    CHECK(runs[0].series() == "tt");
    CHECK(runs[0].model == "L, 8B");
    CHECK(runs[0].hidden == 4096);
    CHECK(runs[0].key_heads == 8);
    CHECK(runs[0].vocabulary == 128256);
    CHECK(runs[0].network == 50);
    CHECK(runs[0].micro_batch == 2);
    CHECK(runs[0].data == 8);
    CHECK(runs[0].sequence_parallel);
    CHECK(runs[0].step_seconds == 2.5);
    CHECK(runs[0].memory_gib == 77.5);
    CHECK(runs[0].notes == "said \"so\"");
    CHECK(runs[1].hidden == 0);
    CHECK(runs[1].step_seconds == 0);
    CHECK_FALSE(runs[1].sequence_parallel);
  }

  TEST_CASE("three dots stand for the words of the row before, in a series") {
    const auto row = [](const std::string& id, const std::string& words) {
      return id + std::string(25, ',') + words + std::string(4, ',') + "\n";
    };
    const auto runs = read(header + row("a-1", "traced + graphs") + row("a-2", "... + fused") +
                           row("a-3", "x ... + y") + row("b-1", "... + z"));
    REQUIRE(runs.size() == 4);
    CHECK(runs[1].framework == "traced + graphs + fused");
    CHECK(runs[2].framework == "x traced + graphs + fused + y");
    CHECK(runs[3].framework == "... + z");
  }

  TEST_CASE("what is not stated is derived of what is") {
    const auto runs = read("global_batch,tokens_per_s_per_gpu," + header +
                           "256,1000,a-1,,,,,,,,,,,64,8,,bf16,4096,,4,zero3,,2,,2,1,,,,,,\n"        // batch and tokens
                           ",1000,a-2,,,,,,,,,,,64,8,,bf16,4096,3,4,zero3,16,4,,1,1,,,,,,\n"        // no batch of all
                           "256,1000,a-3,,,,,,,,,,,64,8,,bf16,4096,2,4,zero3,32,1,,2,1,,,7.5,,,\n"  // all is stated
                           "100,1000,a-4,,,,,,,,,,,64,8,,bf16,4096,,4,zero3,,48,,1,1,,,,,,\n");     // nothing divides
    REQUIRE(runs.size() == 4);
    CHECK(runs[0].data == 64 / 4);
    CHECK(runs[0].micro_batch == 256 / 16 / 4);
    CHECK(runs[0].step_seconds == doctest::Approx(256. * 4096 / (64 * 1000)));
    CHECK(runs[1].step_seconds == doctest::Approx(3. * 16 * 4 * 4096 / (64 * 1000)));
    CHECK(runs[2].step_seconds == 7.5);
    CHECK(runs[2].data == 32);
    CHECK(runs[3].data == 0);
    CHECK(runs[3].micro_batch == 100 / 4);
  }

  TEST_CASE("what is wrong is told with its line") {
    const std::string empty(29, ',');
    CHECK(refused([&] { (void)read(header); }).find("runs.csv: holds no measured step") == 0);
    CHECK(refused([&] { (void)read(header + "a,b\n"); }).find("has 2 cells, expected 30") != std::string::npos);
    CHECK(refused([&] { (void)read(header + empty + "\n"); }).find("id is empty") != std::string::npos);
    CHECK(refused([&] { (void)read("id\na\n"); }).find("no column is called 'date'") != std::string::npos);
  }

  TEST_CASE("a cell that is no number is told with its row, and costs no other row") {
    const std::string rest(26, ',');
    for (const std::string cell : {"x", "-1", "7.5", "nan", "99999999999999999999", "2000000000"}) {
      const auto runs = read(header + "a,,," + cell + rest + "\nb,,,64" + rest + "\n");
      REQUIRE(runs.size() == 2);
      CHECK(runs[0].fault == "hidden is '" + cell + "', expected a number from 0 to 10^9");
      CHECK(runs[0].hidden == 0);
      CHECK(runs[1].fault.empty());
      CHECK(runs[1].hidden == 64);
    }
    for (const char* cell : {"inf", "nan", "-2", "soon"}) {  // seconds of a step
      std::string row = "a" + std::string(26, ',') + cell + ",,,\n";
      const auto runs = read(header + row);
      CHECK(runs[0].fault.find(std::string("' is '") + cell) == std::string::npos);
      CHECK(runs[0].fault.find(" is '" + std::string(cell) + "'") != std::string::npos);
    }
  }

  TEST_CASE("of the published rows each has an id of its own, and batches that fit the devices") {
    const auto path = shared_data("training/measured.csv");
    if (!path) return;
    const auto runs = sw::read_training_runs(*path);
    CHECK(runs.size() > 150);
    std::set<std::string> ids;
    std::size_t fits = 0, stated = 0;
    for (const sw::training_run& r : runs) {
      ids.insert(r.id);
      if (r.data == 0 || r.tensor == 0 || r.devices == 0) continue;
      ++stated;
      const auto one = [](std::int64_t n) { return n > 0 ? n : 1; };
      fits += r.data * r.tensor * one(r.pipeline) * one(r.context) == r.devices ? 1U : 0U;
    }
    CHECK(ids.size() == runs.size());
    CHECK(fits == stated);
  }
}

}  // namespace
}  // namespace training_runs_tests
