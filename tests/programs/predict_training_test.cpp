#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <signal.h>
#include <support/scale.hpp>
#include <support/shared_data.hpp>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>
#include <vector>

namespace predict_training_program_tests {
namespace {

const std::string header =
    "id,date,model,hidden,layers,heads,kv_heads,ffn,vocab,moe,gpu,gpus,gpus_per_node,inter_node_GBps_per_gpu,precision,"
    "seq_len,micro_batch_per_dp_rank,grad_accum,fsdp_or_zero,dp,tp,sp,pp,cp,activation_checkpointing,"
    "compile_or_framework,step_time_s,memory_gib,notes\n";

TEST_SUITE("predict_training") {
  TEST_CASE("published steps are predicted from first principles, and how far off that is is told") {
    const auto table = shared_data("training/measured.csv");
    if (!table) return;
    const temporary_folder folder;
    {  // a few of each series: what takes seconds at most, however it was built
      std::ifstream all(*table);
      std::ofstream some(folder / "some.csv");
      std::string line;
      for (std::int64_t row = 0; std::getline(all, line); ++row)
        if (row == 0 || row % 7 == 1) some << line << '\n';
    }
    const auto run = run_program("predict_training", (folder / "some.csv").string() + " --json", folder.path());
    REQUIRE(run.status == 0);
    CHECK(run.out.find('\n') + 1 == run.out.size());  // one line
    const auto line = boost::json::parse(run.out).as_object();
    const auto number = [](const boost::json::value& v) { return v.to_number<double>(); };
    double skipped = 0;
    for (const auto& [why, count] : line.at("skipped").as_object()) skipped += number(count);
    CHECK(number(line.at("predicted")) + skipped == number(line.at("rows")));
    CHECK(number(line.at("predicted")) == static_cast<double>(line.at("predictions").as_array().size()));
    const auto& step = line.at("step_error").as_object();
    CHECK(number(step.at("count")) >= 5);
    CHECK(number(step.at("median")) < 15);
    CHECK(number(step.at("p90")) < 40);
    for (const auto& p : line.at("predictions").as_array()) {
      CHECK(number(p.at("step_s")) > 0);
      CHECK(number(p.at("memory_gib")) > 0);
    }
  }

  TEST_CASE("the first signal ends it: the rows so far are the answer, and the others are counted") {
    const auto table = shared_data("training/measured.csv");
    if (!table) return;
    const temporary_folder folder;
    program_run run;
    for (const double seconds : {0.5, 1.0, 2.0, 4.0, 8.0}) {  // until there is a first row, however it was built
      run =
          run_and_signal("predict_training", table->string() + " --json --threads 1", folder.path(), seconds, {SIGINT});
      if (run.status != 1 && run.status != -SIGINT) break;
    }
    REQUIRE(run.status == 3);
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("interrupted").as_bool());
    const auto predicted = line.at("predicted").to_number<std::size_t>();
    CHECK(predicted > 0);
    CHECK(predicted == line.at("predictions").as_array().size());
    std::size_t skipped = 0;
    for (const auto& [why, count] : line.at("skipped").as_object()) skipped += count.to_number<std::size_t>();
    CHECK(line.at("skipped").as_object().at("not reached").to_number<std::size_t>() > 0);
    CHECK(predicted + skipped == line.at("rows").to_number<std::size_t>());
  }

  TEST_CASE("what a row does not say as others do is read all the same") {
    const temporary_folder folder;
    const auto predicted = [&](const std::string& words) {
      std::ofstream(folder / "t.csv") << header + "id-1,2025-01,Llama,1024,4,8,8,4096,32000,," << words << ",,\n";
      const auto run = run_program("predict_training", (folder / "t.csv").string() + " --json", folder.path());
      REQUIRE(run.status == 0);
      const auto line = boost::json::parse(run.out).as_object();
      const auto& found = line.at("predictions").as_array();
      return found.empty() ? 0 : found.front().as_object().at("step_s").to_number<double>();
    };
    const auto row = [&](const char* gpu, const char* precision, const char* sharing, const char* rule,
                         const char* framework) {
      return predicted(std::string(gpu) + ",8,8,50," + precision + ",1024,2,1," + sharing + ",8,1,no,1,1," + rule +
                       "," + framework + ",0.1");
    };
    const double usual = row("H100-80GB", "bf16", "zero3", "full", "torchtitan");
    CHECK(usual > 0);
    for (const char* precision : {"BF16", "bfloat16", "amp_bf16", "bf16 mixed", "mixed bf16"})
      CHECK(row("H100-80GB", precision, "zero3", "full", "torchtitan") == usual);
    for (const char* sharing : {"ZeRO-3", "FULL_SHARD", "FSDP2", "fsdp"})
      CHECK(row("h100 80GB", "bf16", sharing, "full", "torchtitan") == usual);
    for (const char* rule : {"true", "Full", "full (every block)"})
      CHECK(row("H100", "bf16", "zero3", rule, "KempnerForge FSDP2") == usual);
    CHECK(row("H100", "bf16", "zero3", "selective_layer_1", "torchtitan") == usual);
    const double by_operators = row("H100", "bf16", "zero3", "selective_op", "torchtitan");
    CHECK(row("H100", "bf16", "zero3", "selective", "torchtitan") == by_operators);
    CHECK(by_operators < usual);
    for (const char* gpu :
         {"A100-80GB", "A100-SXM4-40GB", "H200-141GB", "B200", "GB200 NVL72", "H100-96GB-HBM2e (500W)"})
      CHECK(row(gpu, "bf16", "zero3", "none", "torchtitan") > 0);
    for (const char* sharing : {"hsdp", "none", "zero1", ""})
      CHECK(row("H100", "bf16", sharing, "none", "Megatron-LM") > 0);
    for (const char* precision : {"fp8+bf16", "fp8 tensorwise (linears)+bf16", "FP8 current-scaling + bf16"}) {
      const double in_8_bits = row("H100", precision, "zero3", "full", "torchtitan");
      CHECK(in_8_bits > 0);
      CHECK(in_8_bits != usual);
    }
    CHECK(row("B200", "MXFP8", "zero3", "none", "torchtitan") > 0);
    CHECK(row("A100-80GB", "fp8+bf16", "zero3", "full", "torchtitan") == 0);  // has no such products
    for (const char* precision : {"fp16", "bf16 + FP8 attention", "fp8 rowwise (linears)+bf16", "nvfp4"})
      CHECK(row("H100", precision, "zero3", "full", "torchtitan") == 0);
  }

  TEST_CASE("a device file corrects the rows of its device, and no others") {
    const temporary_folder folder;
    std::string slow = "collective,nodes,ranks,size_bytes,time_us\n";
    for (const char* kind : {"all_gather", "reduce_scatter", "all_reduce", "all_to_all"})
      for (std::int64_t size = 1024; size <= std::int64_t{1} << 30; size *= 32)
        slow += std::string(kind) + ",1,8," + std::to_string(size) + "," +
                std::to_string(70'000 + static_cast<double>(size) / 1e3) + "\n";
    const auto file = folder / "slow.json";
    REQUIRE(run_program("calibrate_device", folder.write("slow.csv", slow).string() + " --out " + file.string(),
                        folder.path())
                .status == 0);  // of an H100
    std::string table = header;
    for (const char* gpu : {"H100-80GB", "A100-80GB"})
      table += std::string(gpu) + ",2025-01,Llama,1024,4,8,8,4096,32000,," + gpu +
               ",8,8,50,bf16,1024,2,1,zero3,8,1,no,1,1,full,torchtitan,0.1,,\n";
    const std::string rows = folder.write("t.csv", table).string();
    const auto steps = [&](const std::string& more, int corrected) {
      const auto run = run_program("predict_training", rows + " --json" + more, folder.path());
      REQUIRE(run.status == 0);
      const auto line = boost::json::parse(run.out).as_object();
      CHECK(line.contains("corrected") == (corrected > 0));
      if (corrected > 0) CHECK(line.at("corrected").to_number<int>() == corrected);
      std::vector<double> found;
      for (const auto& p : line.at("predictions").as_array()) found.push_back(p.at("step_s").to_number<double>());
      REQUIRE(found.size() == 2);
      return found;
    };
    const std::vector<double> plain = steps("", 0), with = steps(" --device-file " + file.string(), 1);
    CHECK(with[0] > 2 * plain[0]);
    CHECK(with[1] == plain[1]);
  }

  TEST_CASE("what predicts a held-out row has not seen it" * doctest::skip(shardweave_test::is_small_scale)) {
    const auto table = shared_data("training/measured.csv");
    if (!table) return;
    const temporary_folder folder;
    std::vector<std::string> some;
    std::string names;
    {
      std::ifstream all(*table);
      std::getline(all, names);
      for (std::string line; std::getline(all, line);)
        if (line.find(",bf16") != std::string::npos && line.find(",torchtitan") != std::string::npos && some.size() < 4)
          some.push_back("some" + line.substr(line.rfind('-', line.find(','))));
    }
    REQUIRE(some.size() == 4);
    const auto run = [&](const std::vector<std::string>& lines, const std::string& flags) {
      std::ofstream file(folder / "some.csv");
      file << names << '\n';
      for (const std::string& line : lines) file << line << '\n';
      file.close();
      const auto made =
          run_program("predict_training", (folder / "some.csv").string() + " --json" + flags, folder.path());
      REQUIRE(made.status == 0);
      return boost::json::parse(made.out).as_object();
    };
    // a series that alone tells of a figure is predicted as if nothing was fitted
    const auto alone = run(some, " --hold-out series");
    CHECK(alone.at("predictions") == run(some, " --slowdown 1 --reserved 1").at("predictions"));
    CHECK(alone.at("held_out").as_array().size() == 1);
    // of two parts each is predicted by what the other one gives where it is all there is to see
    const auto halves = run(some, " --hold-out 2");
    REQUIRE(halves.at("held_out").as_array().size() == 2);
    for (std::size_t part = 0; part < 2; ++part) {
      std::vector<std::string> seen{some[1 - part], some[3 - part]};
      std::string stranger = some[part];  // the same row, of a series of its own
      seen.push_back("stranger-1" + stranger.substr(stranger.find(',')));
      const auto other = run(seen, " --hold-out series");
      const auto& by = other.at("held_out").as_array();
      const auto& of_stranger = by[by.front().as_object().at("rows").as_string() == "stranger" ? 0 : 1].as_object();
      const auto& own = halves.at("held_out").as_array()[part].as_object();
      CHECK(own.at("slowdown") == of_stranger.at("slowdown"));
      CHECK(own.at("reserved") == of_stranger.at("reserved"));
      CHECK(own.at("slowdown").to_number<double>() != 1);
    }
    const auto wrong = run_program("predict_training", table->string() + " --hold-out 1", folder.path());
    CHECK(wrong.status == 2);
    CHECK(wrong.err.find("--hold-out is '1', expected series or a whole number from 2 to 1000") != std::string::npos);
    const auto endless = run_program("predict_training", table->string() + " --reserved inf", folder.path());
    CHECK(endless.status == 2);
    CHECK(endless.err.find("--reserved: found 'inf', expected a finite number from 0 on") != std::string::npos);
  }

  TEST_CASE("steps that were measured after the model was made are predicted, those apart that their host holds up") {
    struct table {
      const char* name;
      int rows;
      double step, step_p90, memory, memory_p90;  ///< errors in percent, below which they stay
    };
    for (const table& t : {table{"later_steps", 17, 3, 8, 3, 5}, table{"later_steps_h200", 10, 2, 6, 3, 9}}) {
      CAPTURE(t.name);
      const temporary_folder folder;
      const std::string file = SHARDWEAVE_SOURCE_DIR "/tests/data/measured/" + std::string(t.name) + ".csv";
      const auto run = run_program("predict_training", file + " --json", folder.path());
      REQUIRE(run.status == 0);
      const auto line = boost::json::parse(run.out).as_object();
      CHECK(line.at("predicted").to_number<int>() == t.rows);
      const auto error = [&](const char* of, const char* which) { return line.at(of).at(which).to_number<double>(); };
      CHECK(error("step_error", "median") < t.step);
      CHECK(error("step_error", "p90") < t.step_p90);
      CHECK(error("memory_error", "median") < t.memory);
      CHECK(error("memory_error", "p90") < t.memory_p90);
    }
  }

  TEST_CASE("a table that is none is refused by its line") {
    const temporary_folder folder;
    std::ofstream(folder / "t.csv") << "id\na\n";
    const auto run = run_program("predict_training", (folder / "t.csv").string(), folder.path());
    CHECK(run.status == 2);
    CHECK(run.err.find("no column is called 'date'") != std::string::npos);
  }
}

}  // namespace
}  // namespace predict_training_program_tests
