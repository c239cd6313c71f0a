#include "failing_memory.hpp"
#include <shardweave/cost/alpha_beta.hpp>
#include <shardweave/cost/collective_table.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/kernel_calibration.hpp>
#include <shardweave/cost/link_shares.hpp>
#include <shardweave/cost/nccl_node.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/io/chakra_tasks.hpp>
#include <shardweave/io/collective_records.hpp>
#include <shardweave/io/device_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/nccl_tests_json.hpp>
#include <shardweave/io/order_certificate.hpp>
#include <shardweave/io/read_chakra.hpp>
#include <shardweave/io/read_kernels.hpp>
#include <shardweave/io/read_link_shares.hpp>
#include <shardweave/io/read_nccl_graphs.hpp>
#include <shardweave/io/read_nccl_rules.hpp>
#include <shardweave/io/read_nccl_topology.hpp>
#include <shardweave/io/read_profiled_run.hpp>
#include <shardweave/io/tasks.hpp>
#include <shardweave/io/training_runs.hpp>
#include <shardweave/report/csv.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/schedule/prefetch.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>
#include <shardweave/tasks/profiled_run.hpp>

#include <doctest/doctest.h>
#include <support/nccl_rules_text.hpp>
#include <support/random_tasks.hpp>
#include <support/temporary_folder.hpp>

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

// Files from elsewhere, and proofs about orders: the operators that fail are those of allocations_test.cpp.
namespace sw = shardweave;

namespace reader_allocations_tests {
namespace {

/// Every allocation fails in turn: the works are small.
template <class Work>
std::size_t each_fails(const std::string& name, Work work) {
  return failing_memory::each_fails(name, work, 4000);
}
/// A file that fuzzing begins with.
std::string stored(std::string_view path) {
  std::ifstream file(std::string(SHARDWEAVE_SOURCE_DIR "/tests/fuzz/corpus/") + std::string(path), std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}
sw::text_input pieces(const std::string& text) { return sw::text_input::of_memory("input", text, 1 + text.size() / 3); }
template <class Write>
std::string text_of(Write write) {
  return sw::json_string([&](sw::json_writer& out) { write(out); });
}
std::string text_of_graph(const sw::task_graph& g) {
  return text_of([&](sw::json_writer& out) { sw::write_task_graph(out, g); });
}

}  // namespace

TEST_SUITE("allocations that fail") {
  TEST_CASE("traces of others, in both formats, and the tasks that are made of them lose nothing") {
    const auto device = sw::find_device("h100");
    const auto read = [&](const std::string& text, sw::chakra_format format) {
      auto input = pieces(text);
      const sw::chakra_trace trace = sw::read_chakra(input, format);
      return text_of_graph(sw::task_graph_of(
          trace, {.ranks = 16, .prices = sw::chakra_prices{{.device = device}, sw::alpha_beta(device)}}));
    };
    for (const char* name : {"small", "kinds"}) {
      const std::string text = stored("chakra/" + std::string(name) + ".json");
      CHECK(each_fails(name, [&] { return read(text, sw::chakra_format::json); }) > 0);
    }
    const std::string messages = stored("chakra/small.et");
    CHECK(each_fails("messages", [&] { return read(messages, sw::chakra_format::messages); }) > 0);
  }

  TEST_CASE("a profiled run loses nothing") {
    const std::string text = stored("profiled_run/small.json");
    const sw::task_graph g = random_tasks(3);
    CHECK(each_fails("profiled run", [&] {
            auto input = pieces(text);
            const sw::profiled_run run = sw::read_profiled_run(input);
            std::string told;
            for (const sw::profiled_call& c : run.calls) told += " " + std::to_string(c.duration.count());
            for (const sw::profiled_collective& c : run.collectives) told += " " + std::to_string(c.bytes_in.count());
            const sw::profiled_durations by = sw::durations_by(g, run);
            return told + ", " + std::to_string(by.matched) + " " + std::to_string(by.unused.size());
          }) > 0);
  }

  TEST_CASE("NCCL's own files lose nothing, nor does a model of collectives that is made of them") {
    const std::string graphs = stored("nccl_graphs/four.xml"), topology = stored("nccl_topology/switched.xml"),
                      rules = stored("nccl_rules/small.conf");
    const auto time = [](const sw::nccl_smooth& model, sw::group_shape group) {
      return std::to_string(model.estimate(sw::collective::all_reduce, sw::mebibytes(1), group).time_us);
    };
    CHECK(each_fails("graphs", [&] {
            auto input = pieces(graphs);
            const sw::nccl_known_layout known = sw::read_nccl_graphs(input);
            // not in braces within braces: of such g++ 12 destroys one twice where a later default throws
            sw::nccl_tuner_options tuner;
            tuner.layouts.push_back(known);
            const sw::nccl_smooth model(sw::nccl_node_of(sw::find_device("h100")), {.tuner = tuner});
            return time(model, {known.ranks_per_node, 2});
          }) > 0);
    CHECK(each_fails("topology", [&] {
            auto input = pieces(topology);
            const sw::nccl_node node = sw::nccl_node_of(sw::read_nccl_topology(input));
            return time(sw::nccl_smooth(node), {node.devices, 1});
          }) > 0);
    CHECK(each_fails("rules", [&] {
            auto input = pieces(rules);
            return shardweave_test::nccl_rules_text(sw::read_nccl_rules(input));
          }) > 0);
  }

  TEST_CASE("tables of measured collectives, links, kernels and steps lose nothing") {
    for (const char* name : {"table.csv", "nccl_tests.txt", "xla.txtpb"}) {
      const std::string text = stored("collective_records/" + std::string(name));
      CHECK(each_fails(name, [&] {
              auto input = pieces(text);
              const auto measured =
                  sw::measurements_of(sw::read_collective_records(input, {.group = sw::group_shape{8, 1}}));
              const sw::collective_table<> model(measured);
              std::string told;
              for (const auto& m : measured)
                told += " " + std::to_string(model.estimate(m.kind, m.size, m.group).time_us);
              return told;
            }) > 0);
    }
    const std::string shares = stored("collective_records/shares.csv"),
                      kernels = stored("collective_records/kernels.csv"), tests = stored("device/nccl_tests.json");
    CHECK(each_fails("shares", [&] {
            auto input = pieces(shares);
            const sw::link_shares<> model(sw::read_link_shares(input));
            return std::to_string(model.estimate(sw::collective::all_gather, sw::mebibytes(1), {8, 2}).time_us);
          }) > 0);
    CHECK(each_fails("kernels", [&] {
            auto input = pieces(kernels);
            const auto measured = sw::read_kernels(input);
            const sw::compute_profile found = sw::calibrate_kernels(sw::find_preset("h100").compute(), measured);
            std::string told;
            for (const sw::measured_kernel& k : measured)
              told += " " + std::to_string(found.compute_time(k.work, k.kind));
            return told;
          }) > 0);
    CHECK(each_fails("JSON of nccl-tests", [&] {
            auto input = pieces(tests);
            return std::to_string(sw::read_nccl_tests_json(input, {.group = sw::group_shape{8, 1}}).size());
          }) > 0);
    const std::string steps =
        "id,date,model,hidden,layers,heads,kv_heads,ffn,vocab,moe,gpu,gpus,gpus_per_node,inter_node_GBps_per_gpu,"
        "precision,seq_len,micro_batch_per_dp_rank,grad_accum,fsdp_or_zero,dp,tp,sp,pp,cp,activation_checkpointing,"
        "compile_or_framework,step_time_s,memory_gib,notes\n"
        "one-1,2024,a model of some size,4096,32,32,8,14336,128256,,h100,8,8,50,bf16,8192,1,1,zero,8,1,,1,1,full,eager,"
        "1.5,60,\"quoted, with \"\"marks\"\"\"\n";
    CHECK(each_fails("steps", [&] {
            auto input = pieces(steps);
            const auto runs = sw::read_training_runs(input);
            return runs.at(0).id + runs.at(0).fault;
          }) > 0);
  }

  TEST_CASE("a device's file and tables for spreadsheets lose nothing") {
    const std::string device = stored("device/small.json");
    CHECK(each_fails("device", [&] {
            auto input = pieces(device);
            const sw::device_calibration found = sw::read_device(input);
            return text_of([&](sw::json_writer& out) { sw::write_device(out, found); });
          }) > 0);
    const sw::task_graph g = random_tasks(3);
    const sw::schedule order = sw::prefetch{}(g, {}, {});
    CHECK(each_fails("csv", [&] { return sw::tasks_csv(g, order, sw::simulate(g, order)); }) > 0);
  }

  TEST_CASE("proofs about orders, their files and their check lose nothing, and leave no file") {
    const sw::task_graph g = random_tasks(5);
    const sw::schedule order = sw::prefetch{}(g, {}, {});
    const temporary_folder folder;
    CHECK(each_fails("orders", [&] {
            const sw::order_certificates all{
                .problem = g.name, .proofs = {sw::certify_all_bucketings(g), sw::certify_order(g, order.buckets)}};
            sw::write_certificate(folder / "proof.json.gz", all);
            const sw::order_certificates read = sw::read_order_certificates(folder / "proof.json.gz");
            std::string told = text_of([&](sw::json_writer& out) { sw::write_certificate(out, read); });
            for (const sw::order_certificate& c : read.proofs) {
              const auto verdict = sw::check_certificate(g, c);
              CHECK(verdict.accepted);
              told += verdict.failure;
            }
            return told;
          }) > 0);
    CHECK(folder.file_count() == 1);
  }
}

}  // namespace reader_allocations_tests
