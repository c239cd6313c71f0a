#include "io/small_tasks_file.hpp"
#include "io/written_texts.hpp"
#include "support/random_tasks.hpp"
#include <shardweave/io/write_tasks.hpp>

#include <doctest/doctest.h>

#include <cstdint>

namespace write_tasks_tests {
namespace {

namespace sw = shardweave;
namespace json = boost::json;
using namespace small_tasks_files;
using namespace written_texts;

}  // namespace

TEST_SUITE("shardweave.tasks") {
  TEST_CASE("what is written reads back to the same text") {
    const sw::task_graph g = read(small);
    CHECK(written(read(written(g))) == written(g));
    for (std::uint64_t seed = 0; seed < 50; ++seed) {
      CAPTURE(seed);
      const sw::task_graph random = random_tasks(seed);
      CHECK(written(read(written(random))) == written(random));
    }
  }

  TEST_CASE("a graph is written with every field that is set, in the units of the format") {
    CHECK(text_by([](sw::json_writer& out) { sw::write_task_graph(out, two_tasks()); }) ==
          R"({"format":"shardweave.tasks","version":1,
"name":"two","description":"a \"graph\"",
"unit":{"time":"ns","size":"byte"},
"groups":[
{"id":7,"name":"dp","size":4,"stride":2,"ranks":[0,2,4,6],"dim":"d","role":"r"}],
"tasks":[
{"name":"first","op":"mm","kind":"compute","duration":5,"inputs":[],"outputs":[{"bytes":8,"storage":0,"dtype":"bf16","shape":[2,2]}],"param":true},
{"name":"second","op":"all_gather","kind":"collective","duration":9000000000000,"inputs":[0,0],"collective":{"op":"all_gather","group":7,"bytes_in":8,"bytes_out":32,"dtype":"bf16","reduce":"none"},"is_fsdp":false}],
"storages":[{"bytes":8,"device":"cpu"}],
"memory":{"baseline":3},
"models":{"collectives":[
{"op":"all_gather","group":7,"bytes_in":[1,9],"time":[2,4]}],
"device":{"name":"H","dram_bytes_per_ns":0,"bf16_tflops_dense":0,"flop_efficiency":0.5,"gpus_per_node":8}},
"alternatives":{"duration_fused":[1,2]}}
)");
  }
}

}  // namespace write_tasks_tests
