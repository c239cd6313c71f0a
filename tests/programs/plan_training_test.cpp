#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/cost/device.hpp>
#include <shardweave/cost/device_presets.hpp>
#include <shardweave/cost/nccl_smooth.hpp>
#include <shardweave/io/model_config.hpp>
#include <shardweave/io/read_tasks.hpp>
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/step_problem.hpp>
#include <shardweave/models/llama.hpp>
#include <shardweave/models/llama_config.hpp>
#include <shardweave/placement/describe.hpp>
#include <shardweave/placement/evaluate.hpp>
#include <shardweave/report/unit_text.hpp>
#include <shardweave/schedule/makespan_bound.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/spmd/hideable_edges.hpp>
#include <shardweave/spmd/spmd_cost_model.hpp>
#include <shardweave/spmd/training_constraints.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <signal.h>
#include <support/scale.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;
namespace fs = std::filesystem;

namespace plan_training_tests {
namespace {

/// Two layers, so small that planning takes a blink.
const std::string tiny = R"({"model_type": "llama", "hidden_size": 512, "intermediate_size": 1024,
 "num_attention_heads": 8, "num_hidden_layers": 2, "num_key_value_heads": 4, "rms_norm_eps": 1e-5,
 "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 2048})";

/// One layer without experts and one with, of 8 in 4 groups.
const std::string deep = R"({"model_type": "deepseek_v3", "hidden_size": 256, "num_hidden_layers": 2,
 "first_k_dense_replace": 1, "num_attention_heads": 8, "q_lora_rank": 64, "kv_lora_rank": 64, "qk_nope_head_dim": 32,
 "qk_rope_head_dim": 16, "v_head_dim": 32, "intermediate_size": 512, "moe_intermediate_size": 128, "n_routed_experts": 8,
 "n_shared_experts": 1, "num_experts_per_tok": 2, "n_group": 4, "topk_group": 2, "topk_method": "noaux_tc",
 "scoring_func": "sigmoid", "norm_topk_prob": true, "routed_scaling_factor": 2.5, "rms_norm_eps": 1e-6,
 "num_nextn_predict_layers": 1, "vocab_size": 1024})";

const std::string shape = " --mesh 4x2 --sequence 256 --batch 8 --threads 1";
/// Where any plan does: of less than all problems that of the least sum, for which nothing is searched.
const std::string any_plan = shape + shardweave_test::sized("", " --objective sum");

bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == text.size() - 1; }

std::string with(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

program_run plan(const temporary_folder& folder, const std::string& arguments) {
  return run_program("plan_training", arguments, folder.path());
}

boost::json::object object_of(const std::string& line) { return boost::json::parse(line).as_object(); }
std::int64_t whole(const boost::json::object& o, const char* field) { return o.at(field).to_number<std::int64_t>(); }
double real(const boost::json::object& o, const char* field) { return o.at(field).to_number<double>(); }

std::set<std::string> names_in(const fs::path& folder) {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) names.insert(entry.path().filename().string());
  return names;
}

const std::set<std::string> all_files{"plan.json", "report.html", "schedule.json", "tasks.json", "trace.json"};

}  // namespace

TEST_SUITE("plan_training") {
  TEST_CASE("what does not fit may wait in the host's memory" * doctest::skip(shardweave_test::is_small_scale)) {
    const temporary_folder folder;
    std::ofstream(folder / "tiny.json") << tiny;
    const auto planned = [&](const std::string& words) {
      const auto run = plan(
          folder, (folder / "tiny.json").string() + " --mesh 4 --sequence 4096 --batch 32 --threads 1 --json " + words);
      CAPTURE(run.err);
      REQUIRE(run.status == 0);
      return object_of(run.out);
    };
    const auto free = planned("");
    const auto held = whole(free, "peak_bytes") + whole(free, "optimizer_bytes");
    const std::string limit = "--memory " + std::to_string(held * 3 / 4);
    const auto again = planned(limit), lent = planned(limit + " --offload 400GB --out " + (folder / "plan").string());
    CHECK(whole(again, "recomputed_ns") > 0);
    CHECK(whole(again, "offloaded_bytes") == 0);
    CHECK(whole(lent, "offloaded_bytes") > 0);
    CHECK(whole(lent, "recomputed_ns") < whole(again, "recomputed_ns"));
    CHECK(whole(lent, "end_to_end_ns") < whole(again, "end_to_end_ns"));
    CHECK(whole(lent, "peak_bytes") + whole(lent, "optimizer_bytes") <= held * 3 / 4);
    CHECK(whole(lent, "step_bound_ns") <= whole(lent, "end_to_end_ns"));

    // the files have the copies: as many bytes go as were promised, and come back
    const sw::task_graph tasks = sw::read_task_graph(folder / "plan" / "tasks.json");
    std::map<std::string, std::int64_t> moved;
    for (sw::task_index t = 0; t < tasks.size(); ++t)
      if (tasks.is_collective(t)) moved[std::string(tasks.op(t))] += tasks.collective(t).bytes_in.count();
    CHECK(moved["copy_to_host"] == whole(lent, "offloaded_bytes"));
    CHECK(moved["copy_from_host"] == whole(lent, "offloaded_bytes"));

    // slow copies are left alone, where plans are searched and where they are stated
    std::vector<std::string> ways{"--layout fsdp=2,tp=2 "};
    if (!shardweave_test::is_small_scale) ways.emplace_back("--mesh 4 ");
    for (const std::string& way : ways) {
      const std::string stated = way + "--memory " + std::to_string(held * 3 / 4);
      const auto of = [&](const std::string& words) {
        const auto run = plan(folder, (folder / "tiny.json").string() +
                                          " --sequence 4096 --batch 32 --threads 1 --json " + stated + words);
        CAPTURE(run.err);
        REQUIRE(run.status == 0);
        return whole(object_of(run.out), "end_to_end_ns");
      };
      CHECK(of(" --offload 1GB") <= of(""));
    }

    for (const std::string left : {"--recompute none", "--regather"}) {
      const auto run = plan(folder, (folder / "tiny.json").string() + " --mesh 4 --offload 50GB " + left);
      CHECK(run.status == 2);
      CHECK(run.err.find("--offload makes plans fit that do not") != std::string::npos);
    }
  }

  TEST_CASE("a plan that is stated in words is priced without a search, with the checkpointing that is named") {
    const temporary_folder folder;
    std::ofstream(folder / "tiny.json") << tiny;
    const auto planned = [&](const std::string& words) {
      const auto run = run_program(
          "plan_training", (folder / "tiny.json").string() + " --sequence 4096 --batch 64 --threads 1 --json " + words,
          folder.path());
      CAPTURE(run.err);
      REQUIRE(run.status == 0);
      return boost::json::parse(run.out).as_object();
    };
    const auto none = planned("--layout fsdp=4,tp=2 --recompute none");
    CHECK(none.at("mesh") == "4x2");
    CHECK(none.at("planned_for") == "sum");
    CHECK(none.at("recomputed_ns").to_number<std::int64_t>() == 0);
    std::map<std::string, std::int64_t> again;
    for (const std::string rule : {"full", "selective_op", "selective"})
      again[rule] = planned("--layout fsdp=4,tp=2 --recompute " + rule).at("recomputed_ns").to_number<std::int64_t>();
    CHECK(again["full"] > again["selective_op"]);
    CHECK(again["selective"] > 0);
    CHECK(planned("--layout fsdp=4,tp=2 --recompute full --recompute-every 2")
              .at("recomputed_ns")
              .to_number<std::int64_t>() < again["full"]);
    // few tokens and wide layers: a device holds gathered parameters, which no rule keeps for the backward part
    const std::string wide = folder
                                 .write("wide.json", with(with(tiny, "\"hidden_size\": 512", "\"hidden_size\": 2048"),
                                                          "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 8"))
                                 .string();
    const auto held_by = [&](const std::string& words) {
      const auto run =
          run_program("plan_training", wide + " --layout fsdp=8 --sequence 64 --batch 8 --threads 1 --json " + words,
                      folder.path());
      CAPTURE(run.err);
      REQUIRE(run.status == 0);
      return boost::json::parse(run.out).as_object();
    };
    const std::string plain = " --bucketing none --scheduler in_order";
    const auto kept = held_by("--recompute none" + plain), made = held_by("--recompute full" + plain);
    CHECK(held_by("--recompute full --regather" + plain).at("peak_bytes") == made.at("peak_bytes"));
    CHECK(made.at("regathers") == true);
    CHECK(made.at("recomputed_ns").to_number<double>() > 0);
    CHECK(made.at("peak_bytes").to_number<double>() < 1.1 * kept.at("peak_bytes").to_number<double>());
    CHECK(made.at("communication_ns").to_number<double>() <= kept.at("communication_ns").to_number<double>());
    // what is gathered early has to fit, too
    const auto number = [](const boost::json::object& plan, const char* name) {
      return plan.at(name).to_number<double>();
    };
    const auto early = held_by("--recompute full");
    CHECK(number(early, "peak_bytes") > number(made, "peak_bytes"));
    const double room = (number(early, "peak_bytes") + number(made, "peak_bytes")) / 2;
    const auto in_room =
        held_by("--recompute full --memory " + std::to_string(std::llround(room + number(early, "optimizer_bytes"))));
    CHECK(in_room.at("fits") == true);
    CHECK(number(in_room, "peak_bytes") <= room);
    const auto shared = planned("--layout zero1=4,cp=2");
    CHECK(shared.at("mesh") == "4x2");
    // parameters are whole on each device; of the optimizer's state it has an eighth
    CHECK(shared.at("optimizer_bytes").to_number<double>() ==
          doctest::Approx(planned("--layout fsdp=4,cp=2").at("optimizer_bytes").to_number<double>()).epsilon(0.01));
    const auto cut = planned("--layout fsdp=2,tp=4 --pieces 2");
    CHECK(cut.at("pieces") == 2);
    CHECK(cut.at("collectives_in_pieces").to_number<std::int64_t>() > 0);
    const auto of = [&](const char* name) { return cut.at(name).to_number<std::int64_t>(); };
    CHECK(of("end_to_end_ns") == std::min(of("step_of_wholes_ns"), of("step_of_pieces_ns")));
    const auto uncut = planned("--layout fsdp=2,tp=4");
    CHECK(of("step_of_wholes_ns") <=
          uncut.at("end_to_end_ns").to_number<std::int64_t>());  // its order is searched, too
    // what the whole plan keeps to, pieces keep to, and what is told to fit is held against the same limit
    const auto held = uncut.at("peak_bytes").to_number<std::int64_t>() +
                      static_cast<std::int64_t>(uncut.at("optimizer_bytes").to_number<double>()) + 1;
    const auto tight = planned("--layout fsdp=2,tp=4 --pieces 4 --memory " + std::to_string(held));
    CHECK(tight.at("fits") == true);
    CHECK(tight.at("device_bytes").to_number<double>() == static_cast<double>(held));
    CHECK(tight.at("peak_bytes").to_number<std::int64_t>() <= uncut.at("peak_bytes").to_number<std::int64_t>());
    // a batch in parts: kept if that is shorter, and told beside the whole
    const auto parts = planned("--layout fsdp=2,tp=4 --batch-parts 2");
    CHECK(parts.at("batch_parts") == 2);
    CHECK(parts.at("step_of_whole_batch_ns") == uncut.at("end_to_end_ns"));
    CHECK(parts.at("end_to_end_ns").to_number<std::int64_t>() ==
          std::min(parts.at("step_of_whole_batch_ns").to_number<std::int64_t>(),
                   parts.at("step_of_batch_parts_ns").to_number<std::int64_t>()));
    const auto odd =
        run_program("plan_training",
                    (folder / "tiny.json").string() + " --layout fsdp=2,tp=4 --batch 4 --batch-parts 3", folder.path());
    CHECK(odd.status == 2);
    CHECK(odd.err.find("a batch of 4 sequences has no 3 equal parts") != std::string::npos);
    const auto refused =
        run_program("plan_training", (folder / "tiny.json").string() + " --layout fsdp=4,ep=2", folder.path());
    CHECK(refused.status == 2);
    CHECK(refused.err.find("layout fsdp=4,ep=2 shares out experts, but the model has none") != std::string::npos);
    for (const char* of_search :
         {"--mesh 2", "--mesh-search 2", "--memory-budget 1", "--objective step", "--search s.svg"}) {
      const auto both =
          run_program("plan_training", (folder / "tiny.json").string() + " --layout dp=2 " + of_search, folder.path());
      CHECK(both.status == 2);
      CHECK(both.err.find(" excludes --") != std::string::npos);
    }
  }

  TEST_CASE("--loss ends the model with its loss, and --reduce-f32 adds up gradients in f32") {
    const temporary_folder folder;
    const std::string line =
        folder.write("tiny.json", tiny).string() + " --sequence 2048 --batch 8 --threads 1 --json ";
    const auto planned = [&](const std::string& words) { return object_of(plan(folder, line + words).out); };
    // where small, placements alone: searching for the step is what other tests do
    for (const std::string how :
         {shardweave_test::sized("--mesh 2x2 ", "--mesh 2x2 --objective sum "), "--layout fsdp=2,tp=2 "}) {
      CAPTURE(how);
      const auto logits = planned(how);
      const auto fused = planned(how + "--loss fused"), wide = planned(how + "--loss float32");
      CHECK(whole(fused, "vertices") > whole(logits, "vertices"));
      CHECK(whole(wide, "end_to_end_ns") > whole(fused, "end_to_end_ns"));  // two more tensors of f32 go by
      CHECK(whole(wide, "peak_bytes") > whole(logits, "peak_bytes"));
      CHECK(planned(how + "--loss sharded").at("fits").as_bool());
      // an eighth of the logits at a time, and the products of the output weight are as many
      const auto chunked = planned(how + "--loss chunked");
      CHECK(whole(chunked, "peak_bytes") < whole(wide, "peak_bytes"));
      CHECK(real(chunked, "end_to_end_ns") == doctest::Approx(real(wide, "end_to_end_ns")).epsilon(0.25));
      const auto same = planned(how + "--loss float32 --loss-chunks 8");
      for (const char* field : {"end_to_end_ns", "peak_bytes"}) CHECK(whole(same, field) == whole(chunked, field));
      CHECK(whole(planned(how + "--loss fused --loss-chunks 4"), "peak_bytes") < whole(fused, "peak_bytes"));
    }
    const auto odd = plan(folder, line + "--loss chunked --loss-chunks 3");
    CHECK(odd.status == 2);
    CHECK(odd.err.find("the loss of a sequence of 2048 has no 3 equal chunks") != std::string::npos);
    const std::string out = (folder / "plan").string();
    const auto narrow_reductions = [&](const std::string& words) {
      planned("--layout fsdp=4 --bucketing none --out " + out + words);
      const sw::task_graph g = sw::read_task_graph(folder / "plan" / "tasks.json", {.strict = true});
      std::size_t all = 0, narrow = 0;
      for (sw::task_index t = 0; t < g.size(); ++t)
        if (g.is_collective(t) && g.collective(t).op == sw::collective::reduce_scatter) {
          ++all;
          narrow += g.collective(t).dtype != "f32" ? 1U : 0U;
        }
      CHECK(all > 0);
      return narrow;
    };
    CHECK(narrow_reductions("") > 0);
    CHECK(narrow_reductions(" --reduce-f32") == 0);
    CHECK(plan(folder, line + "--loss none").err.find("--loss") != std::string::npos);
  }

  TEST_CASE("--f8 runs the products of layers in 8 bits, where the device has them") {
    const temporary_folder folder;
    // wide enough that products take longer than they take to begin
    std::string wide = tiny;
    for (const auto& [from, to] : {std::pair("512", "8192"), std::pair("1024", "16384"), std::pair("2048", "4096")})
      wide.replace(wide.find(from), std::string(from).size(), to);
    const std::string config = folder.write("wide.json", wide).string();
    const std::string layout = " --layout fsdp=2 --sequence 4096 --batch 2 --threads 1 --json --f8 ";
    const auto step = [&](const std::string& how, const char* figure) {
      const auto run = plan(folder, config + layout + how);
      REQUIRE(run.status == 0);
      return object_of(run.out).at(figure).to_number<double>();
    };
    for (const char* scaling : {"current", "delayed"}) {
      CHECK(step(scaling, "end_to_end_ns") < step("off", "end_to_end_ns"));
      CHECK(step(scaling, "vertices") > step("off", "vertices"));
    }
    CHECK(step("delayed", "peak_bytes") < step("off", "peak_bytes"));  // keeps 8 bits of what it reads again
    const auto refused = plan(folder, config + " --mesh 2 --device a100 --f8 current");
    CHECK(refused.status == 2);
    CHECK(refused.err.find("--f8: a100 has no 8-bit floating point") != std::string::npos);
    CHECK(plan(folder, config + " --f8 rowwise").status == 2);
  }

  TEST_CASE("--json prints one line whose figures are there and agree with each other") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::vector<std::string> ways{"", " --bucketing none", " --scheduler in_order", " --solver budgeted",
                                        " --regather"};
    for (const std::string& way : shardweave_test::some_of(ways)) {
      CAPTURE(way);
      const auto run = plan(folder, config + shape + " --json" + way);
      CHECK(run.status == 0);
      CHECK(run.complaints().empty());
      REQUIRE(is_one_line(run.out));
      const auto line = object_of(run.out);
      const auto& parts = line.at("parts").as_object();
      const double objective = real(line, "objective_us"), bound = real(line, "lower_bound_us");
      CHECK(whole(line, "vertices") == 60 + 255 * 2);  // the formula of the model generator
      CHECK(objective > 0);
      CHECK(real(parts, "compute") > 0);
      CHECK(real(parts, "communication") > 0);
      CHECK(std::abs(real(parts, "compute") + real(parts, "communication") + real(parts, "transition") -
                     real(parts, "savings") - objective) <= 1e-9 * objective);
      CHECK(real(parts, "savings") >= 0);
      CHECK(bound <= objective * (1 + 1e-9));
      CHECK((line.at("status").as_string() == "optimal") == (bound >= objective * (1 - 1e-6)));
      CHECK(whole(line, "makespan_bound_ns") <= whole(line, "end_to_end_ns"));
      CHECK(whole(line, "exposed_ns") <= whole(line, "end_to_end_ns"));
      CHECK(whole(line, "exposed_ns") >= 0);
      CHECK(whole(line, "collectives_after") <= whole(line, "collectives_before"));
      CHECK(whole(line, "collectives_after") > 0);
      CHECK(whole(line, "peak_bytes") > 0);
      CHECK(whole(line, "peak_rss_bytes") > 1 << 20);
      const auto& seconds = line.at("seconds").as_object();
      double sum = 0;
      for (const auto& stage : seconds)
        if (stage.key() != "total") sum += stage.value().to_number<double>();
      for (const char* stage : {"build", "solve", "lower", "bucket", "schedule", "simulate", "total"})
        CHECK(real(seconds, stage) >= 0);
      CHECK(sum <= real(seconds, "total"));
    }
  }

  TEST_CASE("--whole-step plans the optimizer and micro-batches as tasks, beside the part that is planned without it") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const fs::path out = folder / "out";
    const auto bare = object_of(plan(folder, config + shape + " --json").out);
    CHECK_FALSE(bare.contains("whole_step"));
    const auto line = object_of(plan(folder, config + shape + " --json --whole-step --out " + out.string()).out);
    CHECK(whole(line, "end_to_end_ns") == whole(bare, "end_to_end_ns"));
    const auto& step = line.at("whole_step").as_object();
    std::int64_t after = 0;
    for (const char* part : {"norm_ns", "reduction_ns", "clipping_ns", "update_ns", "gathering_ns"})
      after += whole(step, part);
    CHECK(whole(step, "end_to_end_ns") == whole(line, "end_to_end_ns") + after);
    CHECK(whole(step, "update_ns") > 0);
    CHECK(whole(step, "clipping_ns") > 0);
    CHECK(whole(step, "peak_bytes") == whole(line, "peak_bytes") + whole(step, "optimizer_bytes"));
    CHECK(real(line, "optimizer_bytes") == doctest::Approx(real(step, "optimizer_bytes")));
    CHECK(whole(step, "step_bound_ns") > whole(line, "step_bound_ns"));
    CHECK(whole(step, "step_bound_ns") <= whole(step, "end_to_end_ns"));
    CHECK(whole(step, "makespan_bound_ns") <= whole(step, "end_to_end_ns"));
    // the files hold all of it
    const sw::task_graph g = sw::read_task_graph(out / "tasks.json", {.strict = true});
    const sw::schedule s = sw::read_schedule(out / "schedule.json", g, {.strict = true});
    CHECK(g.size() == static_cast<std::size_t>(whole(step, "tasks")));
    const sw::timeline read = sw::simulate(g, s);
    CHECK(read.end_to_end.count() == whole(step, "end_to_end_ns"));
    CHECK(read.peak.count() == whole(step, "peak_bytes"));

    const auto more = object_of(plan(folder, config + any_plan + " --json --whole-step --accumulate 3 --no-clip").out);
    const auto& three = more.at("whole_step").as_object();
    CHECK(whole(three, "clipping_ns") + whole(three, "norm_ns") + whole(three, "reduction_ns") == 0);
    CHECK(whole(three, "accumulation_ns") > 0);
    CHECK(whole(three, "end_to_end_ns") <=
          3 * whole(more, "end_to_end_ns") + whole(three, "accumulation_ns") + whole(three, "update_ns"));
    CHECK(three.at("step_bound_ns").is_null());
    const auto text = plan(folder, config + any_plan + " --whole-step --accumulate 2");
    CHECK(text.out.find("The whole step takes ") != std::string::npos);
    CHECK(text.out.find("2 micro-batches") != std::string::npos);
    const auto wrong = plan(folder, config + shape + " --accumulate 2");
    CHECK(wrong.status == 2);
    CHECK(wrong.err.find("--whole-step") != std::string::npos);
  }

  TEST_CASE("nothing merged leaves the collectives, and nothing moved their exposed time") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto line = object_of(plan(folder, config + shape + " --json --bucketing none --scheduler in_order").out);
    CHECK(whole(line, "collectives_before") == whole(line, "collectives_after"));
    const auto better = object_of(plan(folder, config + shape + " --json --bucketing none").out);
    CHECK(whole(better, "end_to_end_ns") <= whole(line, "end_to_end_ns"));
    CHECK(whole(better, "exposed_ns") < whole(line, "exposed_ns"));
  }

  TEST_CASE("--mesh-search plans on the shape that is best when each is planned alone") {
    const temporary_folder folder;
    const std::string one_layer = with(tiny, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
    const std::string config = folder.write("one.json", one_layer).string();
    const std::string step = " --sequence 256 --batch 8 --threads 1 --overlap off --gap 0 --json ";
    const auto run = plan(folder, config + step + "--mesh 4 --mesh-search 2");
    REQUIRE(run.status == 0);
    const auto line = object_of(run.out);
    const auto& meshes = line.at("meshes").as_array();
    REQUIRE(meshes.size() == 2);
    double least = HUGE_VAL;
    std::string best;
    for (const auto& told : meshes) {
      const auto& shape = told.as_object();
      const std::string mesh(shape.at("mesh").as_string());
      const auto alone = object_of(plan(folder, config + step + "--mesh " + mesh).out);
      const double objective = real(alone, "objective_us");
      CHECK(alone.at("mesh").as_string() == mesh);
      CHECK(alone.find("meshes") == alone.end());
      CHECK(real(shape, "lower_bound_us") <= objective * (1 + 1e-9));
      if (!shape.at("pruned").as_bool()) CHECK(real(shape, "objective_us") == doctest::Approx(objective));
      if (objective < least) least = objective, best = mesh;
    }
    CHECK(line.at("mesh").as_string() == best);
    CHECK(real(line, "objective_us") == doctest::Approx(least));
    for (const auto& told : meshes)
      if (told.as_object().at("pruned").as_bool())
        CHECK(real(told.as_object(), "lower_bound_us") >= least * (1 - 1e-8));
  }

  TEST_CASE("--best and --what-if tell what lies around the plan, and wrong wishes are refused at once") {
    const temporary_folder folder;
    const std::string one_layer = with(tiny, "\"num_hidden_layers\": 2", "\"num_hidden_layers\": 1");
    const std::string config = folder.write("one.json", one_layer).string();
    const std::string step = " --mesh 4 --sequence 256 --batch 8 --threads 1 --overlap off ";
    const std::string wishes = " --what-if \"placed layers.0.wq S(1)\" --what-if \"placed layers.0.wq S(0)\"";
    const auto line = object_of(plan(folder, config + step + "--json --best 3" + wishes).out);
    const double objective = real(line, "objective_us");
    const auto& plans = line.at("plans").as_array();
    REQUIRE(plans.size() == 3);
    CHECK(real(plans[0].as_object(), "objective_us") == doctest::Approx(objective));
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const auto& told = plans[i].as_object();
      CHECK(told.at("status").as_string() == "optimal");
      CHECK(real(told, "lower_bound_us") <= real(told, "objective_us") * (1 + 1e-9));
      CHECK((whole(told, "changed") == 0) == (i == 0));
      CHECK(told.at("moved_parameters").as_string().empty() == (i == 0));
      if (i > 0) CHECK(real(told, "objective_us") >= real(plans[i - 1].as_object(), "objective_us"));
    }
    // one of the two ways to cut a square parameter is the plan's own, and costs nothing
    const auto& told = line.at("what_if").as_array();
    REQUIRE(told.size() == 2);
    CHECK(told[0].as_object().at("demand").as_string() == "placed layers.0.wq S(1)");
    double least = HUGE_VAL;
    for (const auto& wish : told) {
      const double most = real(wish.as_object(), "costs_at_most_us");
      CHECK(most == doctest::Approx(real(wish.as_object(), "objective_us") - objective).epsilon(1e-6));
      CHECK(real(wish.as_object(), "costs_at_least_us") <= most);
      least = std::min(least, most);
    }
    CHECK(least <= 1e-6 * objective);
    for (const auto& wish : told)  // whoever pays has been moved
      if (real(wish.as_object(), "costs_at_least_us") > 0) CHECK(whole(wish.as_object(), "changed") > 0);

    const auto refused = plan(folder, config + step + "--what-if \"put wq anywhere\"");
    CHECK(refused.status == 2);
    CHECK(
        refused.err.starts_with("plan_training: --what-if: 'put wq anywhere' is no demand, expected one that begins "));
    const auto budget = plan(folder, config + step + "--what-if \"parameter_bytes 1000000\"");
    CHECK(budget.status == 2);
    CHECK(budget.err ==
          "plan_training: --what-if: 'parameter_bytes 1000000' does not say where operations lie, expected a wish like "
          "'placed layers.*.wq S(0)R'\n");
  }

  TEST_CASE("the wish of the help text is met: what it places does not count for the share of parameters") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string step = config + " --mesh 8x8 --sequence 512 --batch 16 --threads 1 --overlap off";
    const std::string wishes = " --what-if \"placed layers.*.wq S(0)R\" --what-if \"placed layers.*.wq S(0)S(1)\"";
    const auto line = object_of(plan(folder, step + wishes + " --json").out);
    const auto& told = line.at("what_if").as_array();
    REQUIRE(told.size() == 2);
    for (const auto& wish : told) {
      CHECK(wish.as_object().at("status").as_string() == "optimal");
      CHECK(real(wish.as_object(), "costs_at_most_us") ==
            doctest::Approx(real(wish.as_object(), "objective_us") - real(line, "objective_us")).epsilon(1e-6));
    }
    // two weights of 512 x 512 in f32, on 8 devices in place of 64; all others as before
    CHECK(whole(told[0].as_object(), "parameter_bytes") - whole(told[1].as_object(), "parameter_bytes") ==
          2 * 512 * 512 * 4 / 8 - 2 * 512 * 512 * 4 / 64);
    const auto people = plan(folder, step + wishes);
    CHECK(people.out.find("What wishes cost") != std::string::npos);
    CHECK(people.out.find("infeasible") == std::string::npos);
    CHECK(people.out.find("parameters of a device") != std::string::npos);
    // a placement that is not offered is told before the work
    const auto refused =
        plan(folder, step + " --what-if \"placed layers.*.wq S(0)\" --out " + (folder / "no").string());
    CHECK(refused.status == 1);
    CHECK(refused.err.find("--what-if: #1 placed layers.*.wq S(0): operation 'layers.0.wq' cannot be placed S(0)") !=
          std::string::npos);
    CHECK(!fs::exists(folder / "no"));
  }

  TEST_CASE("windows are limited and widened where there are windows") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    for (const std::string more :
         {" --overlap-prefetch 2", " --overlap-every-edge", " --overlap-every-edge --overlap-prefetch 5"}) {
      CAPTURE(more);
      const auto line = object_of(plan(folder, config + shape + " --overlap windows --json --seconds 1" + more).out);
      CHECK(line.at("objective_us").is_number());
      const auto other = plan(folder, config + shape + " --overlap strict --json" + more);
      CHECK(other.status == 2);
      CHECK(other.err.find(" needs --overlap windows, found --overlap strict") != std::string::npos);
    }
  }

  TEST_CASE("--explain tells why an operation takes no other strategy, by name") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string step = config + " --mesh 4 --sequence 256 --batch 8 --threads 1 --overlap off ";
    const auto line = object_of(plan(folder, step + "--json --objective sum --explain layers.1.wo.einsum").out);
    const auto& told = line.at("explained").as_array();
    REQUIRE(told.size() == 1);
    const auto& one = told[0].as_object();
    CHECK(one.at("name").as_string() == "layers.1.wo.einsum");
    CHECK(whole(one, "tied") == 1);  // that of the other layer
    const auto& strategies = one.at("strategies").as_array();
    REQUIRE(strategies.size() == 5);  // whole, and cut by one of its four letters
    double least = HUGE_VAL;
    for (const auto& each : strategies) {
      const auto& other = each.as_object();
      CHECK(other.at("arguments").as_array().size() == 2);
      if (other.at("strategy").as_string() == one.at("chosen").as_string()) CHECK(real(other, "change_us") == 0);
      if (other.at("breaks").as_array().empty()) least = std::min(least, real(other, "change_us"));
    }
    CHECK(least == 0);  // a proven optimum: no move is better

    const auto people = plan(folder, step + "--explain layers.1.wo.einsum --what-if \"placed layers.0.wq S(1)\"");
    CHECK(people.out.find("(layers.1.wo.einsum) takes strategy ") != std::string::npos);
    CHECK(people.out.find("(layers.1.wo.einsum) and its other strategies, which 1 tied to it would take too") !=
          std::string::npos);
    CHECK(people.out.find("What changes with \"placed layers.0.wq S(1)\"") != std::string::npos);
    const auto refused = plan(folder, step + "--explain layers.7.wo.einsum");
    CHECK(refused.status == 2);
    CHECK(refused.err ==
          "plan_training: --explain: no operation is called 'layers.7.wo.einsum'; the nearest name is "
          "'layers.0.wo.einsum'\n");
  }

  TEST_CASE("--explain tells what a microsecond more of an operation's work costs the step and the bound") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string step = config + " --mesh 4 --sequence 256 --batch 8 --threads 1 --explain layers.1.wo.einsum ";
    const auto line = object_of(plan(folder, step + "--json").out);
    CHECK(line.at("planned_for").as_string() == "step");
    CHECK(line.at("step_bound_is_of_plan").as_bool());
    const auto& one = line.at("explained").as_array().at(0).as_object();
    double priced = 0;
    const auto& tasks = one.at("tasks").as_array();
    REQUIRE(!tasks.empty());
    for (const auto& each : tasks) {
      const auto& task = each.as_object();
      CHECK(whole(task, "slack_ns") >= 0);
      CHECK(whole(task, "together") >= 1);
      if (task.at("in_bound").is_number()) priced += real(task, "in_bound");
    }
    CHECK(priced > 0);  // its product, where the bound is made of computation
    for (const auto& each : one.at("strategies").as_array())
      if (each.as_object().at("strategy").as_string() == one.at("chosen").as_string())
        CHECK(real(each.as_object(), "change_at_prices_ns") == 0);
    const auto people = plan(folder, step);
    CHECK(people.out.find("at the step's prices") != std::string::npos);
    CHECK(people.out.find("may take longer by") != std::string::npos);
    const auto of_layout = object_of(plan(folder, config + " --sequence 256 --batch 8 --layout fsdp=2,tp=2 --json "
                                                           "--explain layers.1.wo.einsum")
                                         .out);
    const auto& stated = of_layout.at("explained").as_array().at(0).as_object();
    for (const auto& each : stated.at("tasks").as_array()) CHECK(each.as_object().at("in_bound").is_null());
  }

  TEST_CASE("--layers found ties what the model's writer says, and untied layers cost no more") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string step = " --mesh 4 --sequence 256 --batch 8 --threads 1 --overlap off --gap 0 --json --layers ";
    const auto objective = [&](const char* layers) {
      const auto line = object_of(plan(folder, config + step + layers).out);
      CHECK(line.at("status").as_string() == "optimal");
      return real(line, "objective_us");
    };
    const double tied = objective("tied");
    CHECK(objective("found") == doctest::Approx(tied).epsilon(1e-8));
    CHECK(objective("untied") <= tied * (1 + 1e-8));
  }

  TEST_CASE("the files replay to the same objective, timeline and peak, bit for bit") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const fs::path out = folder / "deep/plan";
    const auto run = plan(folder, config + shape + " --overlap windows --json --out " + out.string());
    REQUIRE(run.status == 0);
    CHECK(names_in(out) == all_files);
    const auto line = object_of(run.out);

    // the problem, built here a second time, prices the written assignment as the program did
    const sw::llama_config model_config = sw::read_llama_config(folder / "tiny.json");
    const sw::device_profile device = sw::find_device("h100");
    const sw::spmd_cost_model model(sw::llama_training_graph(model_config, {.batch = 8, .sequence = 256}),
                                    sw::device_mesh::parse("4x2"), sw::find_preset("h100").compute(),
                                    sw::nccl_smooth(device));
    const auto constraints = sw::training_constraints(
        model, {.inputs = sw::sharding::parse("S(0)R"), .results = sw::sharding::parse("S(0)S(2)")});
    auto problem = sw::describe(model.graph(), model, constraints);
    const bool counts = line.at("overlap").as_string() == "windows";  // or "off": faster in the simulator
    problem.counted = counts ? sw::savings_form::windows : sw::savings_form::off;
    problem.overlap = sw::hideable_edges(model);
    const auto stored = sw::read_solution<double>(out / "plan.json", {.strict = true});
    const auto priced = sw::evaluate(problem, stored.answer.choice);
    CHECK(priced.is_feasible());
    CHECK(priced.objective == stored.answer.objective);
    CHECK(priced.objective == real(line, "objective_us"));
    CHECK(stored.answer.lower_bound == real(line, "lower_bound_us"));
    CHECK(priced.parts.compute == real(line.at("parts").as_object(), "compute"));
    CHECK(priced.parts.communication == real(line.at("parts").as_object(), "communication"));
    CHECK(priced.parts.transition == real(line.at("parts").as_object(), "transition"));
    CHECK(priced.savings == real(line.at("parts").as_object(), "savings"));

    const sw::task_graph g = sw::read_task_graph(out / "tasks.json", {.strict = true});
    const sw::schedule s = sw::read_schedule(out / "schedule.json", g, {.strict = true});
    const sw::timeline replayed = sw::simulate(g, s);
    CHECK(replayed.end_to_end.count() == whole(line, "end_to_end_ns"));
    CHECK(replayed.exposed.count() == whole(line, "exposed_ns"));
    CHECK(replayed.peak.count() == whole(line, "peak_bytes"));
    CHECK(static_cast<std::int64_t>(replayed.collectives) == whole(line, "collectives_after"));
    CHECK(static_cast<std::int64_t>(sw::simulate(g).collectives) == whole(line, "collectives_before"));
    CHECK(sw::makespan_bound(g, s.buckets).value().count() == whole(line, "makespan_bound_ns"));
    CHECK(static_cast<std::int64_t>(g.size()) == whole(line, "tasks"));
  }

  TEST_CASE("the trace tells the timeline: one slice at most at a time on each track, and the same end") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto run = plan(folder, config + shape + " --json --out " + (folder / "plan").string());
    REQUIRE(run.status == 0);
    const auto trace = boost::json::parse(temporary_folder::read(folder / "plan/trace.json"));
    const auto& events = trace.is_object() ? trace.at("traceEvents").as_array() : trace.as_array();
    std::map<std::int64_t, std::vector<std::pair<double, double>>> tracks;
    std::size_t counters = 0, starts = 0, finishes = 0;
    double last = 0;
    for (const auto& event : events) {
      const auto& e = event.as_object();
      const auto& kind = e.at("ph").as_string();
      counters += kind == "C" ? 1U : 0U;
      starts += kind == "s" ? 1U : 0U;
      finishes += kind == "f" ? 1U : 0U;
      if (kind != "X") continue;
      const double from = real(e, "ts"), length = real(e, "dur");
      tracks[whole(e, "tid")].emplace_back(from, from + length);
      last = std::max(last, from + length);
    }
    CHECK(tracks.size() == 3);  // computation and one group for each mesh dimension
    CHECK(counters > 10);
    CHECK(starts > 0);
    CHECK(finishes >= starts);
    CHECK(last == doctest::Approx(real(object_of(run.out), "end_to_end_ns") / 1000).epsilon(1e-9));
    for (auto& [track, slices] : tracks) {
      CAPTURE(track);
      std::sort(slices.begin(), slices.end());
      for (std::size_t i = 1; i < slices.size(); ++i) CHECK(slices[i - 1].second <= slices[i].first + 1e-6);
    }
  }

  TEST_CASE("--search draws how step and bound came together, in the report, too") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string() + shape;
    const std::string picture = (folder / "search.svg").string(), report = (folder / "report.html").string();
    const auto run = plan(folder, config + " --json --search " + picture + " --report " + report);
    REQUIRE(run.status == 0);
    const auto line = boost::json::parse(run.out).as_object();
    const std::string svg = temporary_folder::read(picture), page = temporary_folder::read(report);
    const auto text = [&](const char* field) {
      return sw::time_text(sw::nanoseconds(line.at(field).to_number<std::int64_t>()));
    };
    CHECK(svg.find(">best " + text("end_to_end_ns") + "<") != std::string::npos);
    CHECK(svg.find(">bound " + text("step_bound_ns") + "<") != std::string::npos);
    CHECK(page.find("<section id=\"search\">") != std::string::npos);
    CHECK(page.find(">bound " + text("step_bound_ns") + "<") != std::string::npos);
    const auto sum = plan(folder, config + " --objective sum --search " + picture);
    CHECK(sum.status == 2);
    CHECK(sum.err.find("--search draws the search for the fastest step") != std::string::npos);
  }

  TEST_CASE("two runs write the same files, byte by byte") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string common = config + " --mesh 4x2 --sequence 256 --batch 8";
    REQUIRE(plan(folder, common + " --out " + (folder / "one").string()).status == 0);
    REQUIRE(plan(folder, common + " --threads 1 --out " + (folder / "two").string()).status == 0);
    for (const std::string& name : all_files) {
      CAPTURE(name);
      const std::string one = temporary_folder::read(folder / "one" / name);
      CHECK(!one.empty());
      const bool same = one == temporary_folder::read(folder / "two" / name);
      CHECK(same);
    }
  }

  TEST_CASE("a placement within --gap of its bound is enough, and 0 asks for the best one") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string line = config + shape + " --overlap off --gap ";
    const auto best = object_of(plan(folder, line + "0 --json").out);
    CHECK(best.at("status").as_string() == "optimal");
    const auto near = object_of(plan(folder, line + "60 --json").out);
    CHECK(near.at("status").as_string() != "stopped");
    CHECK(real(near, "objective_us") <= 1.6 * real(near, "lower_bound_us"));
    CHECK(real(near, "objective_us") >= real(best, "objective_us") * (1 - 1e-9));
    if (near.at("status").as_string() == "feasible")
      CHECK(plan(folder, line + "60").out.find("within the gap that was asked for.") != std::string::npos);
    CHECK(plan(folder, line + "-1").status == 2);
  }

  TEST_CASE("without --json people read a summary, which says where files went") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto run = plan(folder, config + any_plan + " --out " + (folder / "plan").string());
    CHECK(run.status == 0);
    CHECK(run.complaints().empty());
    for (const char* word : {"tiny",        "4x2",         "h100",         "objective",
                             "lower bound", "gap",         "computation",  "communication",
                             "transition",  "status",      "Parameters",   "embedding",
                             "wq",          "w2",          "S(",           "all_gather",
                             "before",      "after",       "buckets",      "end to end",
                             "exposed",     "peak memory", "fully hidden", "Planned in",
                             "solve",       "schedule",    "trace.json",   "perfetto"})
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
    const auto where = run.out.find("Written to " + (folder / "plan").string());
    CHECK(where != std::string::npos);
    CHECK(run.out.ends_with("\nReport, for a browser: " + (folder / "plan/report.html").string() + "\n"));
    const auto elsewhere = plan(folder, config + any_plan + " --report " + (folder / "page.html").string());
    CHECK(elsewhere.out.find("Written to") == std::string::npos);
    CHECK(elsewhere.out.ends_with("\nReport, for a browser: " + (folder / "page.html").string() + "\n"));
    CHECK(temporary_folder::read(folder / "page.html") == temporary_folder::read(folder / "plan/report.html"));
    CHECK(plan(folder, config + any_plan + " --report none").out.find("Report") == std::string::npos);
    const auto nowhere = plan(folder, config + any_plan + " --report " + (folder / "no/page.html").string());
    CHECK(nowhere.status == 2);
    CHECK(nowhere.err.find("no/page.html: cannot be opened for writing") != std::string::npos);
    for (std::size_t at = 0; at < run.out.size();) {  // it fits a terminal, and no line ends in blanks
      const std::size_t end = run.out.find('\n', at);
      REQUIRE(end != std::string::npos);
      if (at < where) CHECK(end - at <= 120);
      if (end > at) CHECK(run.out[end - 1] != ' ');
      at = end + 1;
    }
  }

  TEST_CASE("one mesh dimension, three, and one device") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    for (const auto& [mesh, groups] : std::map<std::string, bool>{{"4", true}, {"2x2x2", true}, {"1", false}}) {
      CAPTURE(mesh);
      const auto run = plan(folder, config + " --json --objective sum --sequence 256 --batch 8 --mesh " + mesh);
      CHECK(run.status == 0);
      CHECK(run.complaints().empty());
      REQUIRE(is_one_line(run.out));
      const auto line = object_of(run.out);
      CHECK((whole(line, "collectives_before") > 0) == groups);
      if (groups) continue;
      CHECK(real(line.at("parts").as_object(), "communication") == 0);
      CHECK(whole(line, "exposed_ns") == 0);
      CHECK(whole(line, "end_to_end_ns") == whole(line, "makespan_bound_ns"));
    }
  }

  TEST_CASE(
      "the step is planned for unless told otherwise: no slower than the least sum, within its bound, with prices") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto run = plan(folder, config + " --json --mesh 2x4"),
               sum = plan(folder, config + " --json --mesh 2x4 --objective sum");
    REQUIRE(run.status == 0);
    REQUIRE(sum.status == 0);
    const auto line = object_of(run.out), least = object_of(sum.out);
    CHECK(line.at("planned_for").as_string() == "step");
    CHECK(least.at("planned_for").as_string() == "sum");
    CHECK(whole(line, "step_of_least_sum_ns") == whole(least, "end_to_end_ns"));
    CHECK(whole(line, "end_to_end_ns") <= whole(line, "step_of_least_sum_ns"));
    CHECK(whole(line, "end_to_end_ns") >= whole(line, "step_bound_ns"));
    CHECK(whole(least, "end_to_end_ns") >= whole(line, "step_bound_ns"));
    CHECK(whole(line, "makespan_bound_ns") <= whole(line, "end_to_end_ns"));
    const double over = real(line, "end_to_end_ns") / real(line, "step_bound_ns") - 1;
    CHECK(real(line, "step_gap") == doctest::Approx(over).epsilon(1e-6));
    CHECK(whole(line, "plans_tried") > 1);
    CHECK_FALSE(line.at("search_complete").as_bool());
    double prices = 0;
    for (const auto& [channel, price] : line.at("prices").as_object()) prices += price.to_number<double>();
    CHECK(prices == doctest::Approx(1));
    CHECK(object_of(plan(folder, config + " --json --mesh 2x4 --gap 0").out).at("planned_for").as_string() == "sum");
  }

  TEST_CASE("the shipped configs plan") {
    const temporary_folder folder;
    for (const char* name : {"llama3-1b", "llama3-8b"}) {
      CAPTURE(name);
      const auto file = fs::path(SHARDWEAVE_SOURCE_DIR) / "examples/configs" / (std::string(name) + ".json");
      const auto run = plan(folder, file.string() + " --mesh 8x8 --json --objective sum");
      CHECK(run.status == 0);
      const auto line = object_of(run.out);
      CHECK(line.at("status").as_string() != "stopped");
      CHECK(real(line, "objective_us") <= 1.001 * real(line, "lower_bound_us"));
      CHECK(line.at("model").as_string() == name);
      CHECK(whole(line, "vertices") == 60 + 255 * (std::string(name) == "llama3-1b" ? 16 : 32));
    }
  }

  TEST_CASE("a joint graph of ours tells its roles: gathers and scatters between nodes are launched 98 and 97 times") {
    const temporary_folder folder;
    const auto file = fs::path(SHARDWEAVE_SOURCE_DIR) / "examples/configs/llama3-8b.json";
    const auto out = folder / "plan";
    const auto run = plan(folder, file.string() +
                                      " --mesh 8x8 --bucketing autoparallel_size_buckets --scheduler in_order "
                                      "--json --out " +
                                      out.string());
    REQUIRE(run.status == 0);
    const sw::task_graph g = sw::read_task_graph(out / "tasks.json", {.strict = true});
    const sw::schedule s = sw::read_schedule(out / "schedule.json", g, {.strict = true});
    std::map<std::pair<sw::collective, std::uint32_t>, std::int64_t> before, after;
    for (sw::task_index t = 0; t < g.size(); ++t) {
      REQUIRE(g.when(t).has_value());
      REQUIRE((g.role(t) == sw::task_role::none) == (g.kind(t) == sw::task_kind::output));
      if (g.is_collective(t)) ++before[{g.collective(t).op, g.collective(t).group}];
    }
    after = before;
    for (const sw::bucket& b : s.buckets)
      after[{g.collective(b.members.front()).op, b.channel}] -= static_cast<std::int64_t>(b.members.size()) - 1;
    CHECK(before[{sw::collective::all_gather, 0}] == 291);
    CHECK(after[{sw::collective::all_gather, 0}] == 98);
    CHECK(before[{sw::collective::reduce_scatter, 0}] == 290);
    CHECK(after[{sw::collective::reduce_scatter, 0}] == 97);
    // every collective is in a bucket or was refused
    std::set<sw::task_index> told;
    for (const sw::bucket& b : s.buckets) told.insert(b.members.begin(), b.members.end());
    for (const sw::decision& d : s.decisions) told.insert(d.subject);
    for (sw::task_index t = 0; t < g.size(); ++t) CHECK(told.count(t) == (g.is_collective(t) ? 1 : 0));
  }

  TEST_CASE("a memory budget is met, or the status is 1 and nothing is written") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto free = object_of(plan(folder, config + any_plan + " --json").out);
    const auto peak = whole(free, "peak_bytes");
    const auto all = peak + static_cast<std::int64_t>(real(free, "optimizer_bytes")) + 1;
    const auto enough = plan(folder, config + any_plan + " --json --memory " + std::to_string(all));
    CHECK(enough.status == 0);
    CHECK(whole(object_of(enough.out), "peak_bytes") <= peak);

    const auto none = plan(folder, config + any_plan + " --json --memory 1000 --out " + (folder / "plan").string());
    CHECK(none.status == 1);
    REQUIRE(is_one_line(none.complaints()));
    const auto held = static_cast<double>(whole(object_of(none.out), "peak_bytes"));
    const double state = real(object_of(none.out), "optimizer_bytes");
    const std::string told = "plan_training: " + config + ": no plan within the " + shardweave::size_text(1000.0) +
                             " of --memory was found: the best one needs " + shardweave::size_text(held + state) +
                             ", " + shardweave::size_text(held + state - 1000) + " more (" +
                             shardweave::size_text(held) + " at the peak of its timeline, " +
                             shardweave::size_text(state) + " of optimizer state); whatever it makes again, it needs ";
    REQUIRE(none.complaints().starts_with(told));
    CHECK(none.err.ends_with(" at least\n"));
    // the least is told in MiB: with a hundredth more there is a plan
    const auto least =
        static_cast<std::int64_t>((std::stod(none.complaints().substr(told.size())) + 0.01) * 1024 * 1024);
    CHECK(least < held + state);
    CHECK(plan(folder, config + any_plan + " --memory " + std::to_string(least)).status == 0);
    CHECK(!fs::exists(folder / "plan"));
  }

  TEST_CASE("placing keeps within a memory budget, with the optimizer's state, or names what does not") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string line = config +
                             " --mesh 4 --sequence 256 --batch 8 --threads 1 --compute roofline --overlap off "
                             "--scheduler in_order --bucketing none --gap 0 --json --memory-budget ";
    const auto free = object_of(plan(folder, line + "1000000000").out);
    const auto held = real(free, "planned_bytes");
    CHECK(real(free, "memory_budget_bytes") == 1e9);
    // what an order without merged collectives needs, and the state, within a few percent
    const sw::llama_config figures = sw::read_llama_config(fs::path(config));
    const double state = 8 * static_cast<double>(figures.parameter_count()) / 4;
    CHECK(held == doctest::Approx(real(free, "peak_bytes") + state).epsilon(0.05));
    const auto other = object_of(plan(folder, line + "1000000000 --optimizer-bytes 12").out);
    CHECK(real(other, "planned_bytes") == doctest::Approx(held + state / 2));

    const auto less = static_cast<std::int64_t>(held * 0.97);
    const auto tight = object_of(plan(folder, line + std::to_string(less)).out);
    CHECK(real(tight, "planned_bytes") <= static_cast<double>(less));
    CHECK(real(tight, "peak_bytes") < real(free, "peak_bytes"));
    CHECK(real(tight, "objective_us") > real(free, "objective_us"));

    const auto none = plan(folder, line + "1000000");
    CHECK(none.status == 1);
    CHECK(none.complaints().starts_with("plan_training: " + config + ": budget 'device memory' at time "));
    CHECK(none.err.ends_with(", but its limit is 1000000\n"));
    const auto text = plan(folder, config + shape + " --memory-budget 1000000000");
    CHECK(text.out.find("\nPlacing counts ") != std::string::npos);
  }

  TEST_CASE("sizes take units") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string line = config + shape + " --scheduler in_order --bucketing none --overlap off --json ";
    const std::pair<const char*, double> sizes[] = {
        {"2GiB", 2147483648.0}, {"2G", 2147483648.0}, {"1.5GiB", 1610612736.0}, {"1.5GB", 1.5e9},
        {"900MB", 9e8},         {"900000000", 9e8},   {"'900 MB'", 9e8}};
    for (const auto& [text, bytes] : sizes) {
      CAPTURE(text);
      const auto run = plan(folder, line + "--memory-budget " + text + " --memory " + text);
      REQUIRE(run.status == 0);
      CHECK(real(object_of(run.out), "memory_budget_bytes") == bytes);
      CHECK(real(object_of(run.out), "device_bytes") == bytes);
    }
  }

  TEST_CASE("what does not fit a device is said first: by how much, and what no placement can help") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string line = config +
                             " --mesh 4 --sequence 256 --batch 8 --threads 1 --compute roofline --recompute none " +
                             shardweave_test::sized("", "--objective sum ");
    const auto roomy = object_of(plan(folder, line + "--json").out);
    CHECK(roomy.at("fits").as_bool());
    CHECK(real(roomy, "device_bytes") == 80.0 * 1024 * 1024 * 1024);
    const sw::llama_config figures = sw::read_llama_config(fs::path(config));
    const double state = 8 * static_cast<double>(figures.parameter_count()) / 4;  // every parameter is cut
    CHECK(real(roomy, "optimizer_bytes") == doctest::Approx(state).epsilon(0.01));
    const auto text = plan(folder, line);
    CHECK(text.out.find("of optimizer state, ") != std::string::npos);
    CHECK(text.out.find(" of the 80.00 GiB of h100.\n") != std::string::npos);
    CHECK(text.out.find("DOES NOT FIT") == std::string::npos);

    // a reserve is no part of the device's memory
    CHECK(real(object_of(plan(folder, line + "--json --reserve 10GiB").out), "device_bytes") ==
          70.0 * 1024 * 1024 * 1024);
    CHECK(plan(folder, line + "--reserve 10GiB").out.find(" of the 70.00 GiB of h100 less --reserve.\n") !=
          std::string::npos);
    const auto nothing_left = plan(folder, line + "--reserve 80GiB");
    CHECK(nothing_left.status == 2);
    CHECK(nothing_left.err.find("--reserve: 80.00 GiB of the 80.00 GiB of h100 leave nothing") != std::string::npos);
    CHECK(plan(folder, line + "--reserve 1GiB --memory 70GiB").err.find("--memory excludes --reserve") !=
          std::string::npos);

    const auto peak = whole(roomy, "peak_bytes");
    // more than no placement can help, less than any plan that makes nothing again needs
    const std::string between = std::to_string(peak - peak / 5);
    const auto tight = object_of(plan(folder, line + "--json --memory " + between).out);
    CHECK_FALSE(tight.at("fits").as_bool());
    const auto told = plan(folder, line + "--memory " + between);
    CHECK(told.status == 1);
    const auto first = told.out.find("\n\nDOES NOT FIT: a device needs ");
    REQUIRE(first != std::string::npos);
    CHECK(first < told.out.find("One step takes"));
    for (const char* words :
         {"of optimizer state\n", "results until their last use", "--memory-budget", "with --regather"})
      CHECK_MESSAGE(told.out.find(words) != std::string::npos, words);

    // without --memory that is an answer, which says of itself that it does not fit
    const auto reserve = [&](double of_state) {
      return line + "--reserve " +
             std::to_string((std::int64_t{80} << 30) - peak - static_cast<std::int64_t>(of_state));
    };
    const double held = real(roomy, "optimizer_bytes");
    const std::string reserved = reserve(held / 2);
    const auto beyond = plan(folder, reserved + " --out " + (folder / "beyond").string());
    CHECK(beyond.status == 4);
    CHECK(beyond.err.find("tiny.json: the plan needs ") != std::string::npos);
    CHECK(beyond.err.find(" more than the ") != std::string::npos);
    CHECK(beyond.err.ends_with(" of h100 less --reserve\n"));
    CHECK(beyond.out.find("DOES NOT FIT") != std::string::npos);
    CHECK(fs::exists(folder / "beyond" / "plan.json"));
    const auto beyond_line = plan(folder, reserved + " --json");
    CHECK(beyond_line.status == 4);
    CHECK_FALSE(object_of(beyond_line.out).at("fits").as_bool());
    CHECK(plan(folder, reserve(std::ceil(held))).status == 0);

    // what it says no placement undercuts is refused as a budget, by another count
    const auto least = static_cast<std::int64_t>(real(tight, "least_bytes"));
    CHECK(least > 0);
    CHECK(least <= peak + static_cast<std::int64_t>(state));
    const auto none = plan(folder, line + "--memory-budget " + std::to_string(least - 1));
    CHECK(none.status == 1);
    CHECK(none.err.find("but its limit is ") != std::string::npos);
    const auto hopeless = plan(folder, line + "--memory " + std::to_string(least - 1));
    CHECK(hopeless.out.find("--memory-budget alone cannot help: no placement on 4 holds less than ") !=
          std::string::npos);
    CHECK(hopeless.status == 1);
  }

  TEST_CASE("a plan that does not fit is not held against the bound on those that do") {
    const temporary_folder folder;
    const auto words = (fs::path(SHARDWEAVE_SOURCE_DIR) / "examples/configs").string() +
                       shardweave_test::sized("/llama3-70b.json --mesh 8", "/llama3-8b.json --mesh 1 --sequence 1024");
    const auto run = [&](const std::string& more) {
      return run_program("plan_training", words + " --report none " + more, folder.path());
    };
    const auto told = run("--json");
    CHECK(told.status == 4);
    const auto line = boost::json::parse(told.out).as_object();
    CHECK_FALSE(line.at("fits").as_bool());
    CHECK(line.at("step_gap").is_null());
    CHECK(line.at("step_bound_ns").to_number<double>() > line.at("end_to_end_ns").to_number<double>());
    const std::string text = run("").out;
    CHECK(text.find("No plan that keeps to the memory ends before ") != std::string::npos);
    CHECK(text.find("No plan of the placement of the least sum keeps to the memory; ") != std::string::npos);
    CHECK(text.find("at most -") == std::string::npos);
  }

  TEST_CASE("what does not fit makes values again until it does, and what it promises is simulated") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string line = config + " --mesh 4 --sequence 2048 --batch 8 --threads 1 --compute roofline --json ";
    const auto free = object_of(plan(folder, line).out);
    const auto full = object_of(plan(folder, line + "--recompute full").out);
    CHECK(whole(free, "recomputed_ns") == 0);
    CHECK(whole(full, "recomputed_ns") > 0);
    CHECK(whole(full, "peak_bytes") < whole(free, "peak_bytes"));
    CHECK(whole(full, "end_to_end_ns") > whole(free, "end_to_end_ns"));

    const auto state = static_cast<std::int64_t>(real(free, "optimizer_bytes"));
    const std::int64_t room = (whole(free, "peak_bytes") + whole(full, "peak_bytes")) / 2;
    const std::string memory = "--memory " + std::to_string(room + state);
    const fs::path out = folder / "plan";
    const auto fitted = object_of(plan(folder, line + memory + " --out " + out.string()).out);
    CHECK(fitted.at("fits").as_bool());
    CHECK(whole(fitted, "peak_bytes") <= room);
    CHECK(whole(fitted, "recomputed_ns") <= whole(full, "recomputed_ns"));
    CHECK(whole(fitted, "end_to_end_ns") <= whole(full, "end_to_end_ns"));
    CHECK_FALSE(object_of(plan(folder, line + memory + " --recompute none").out).at("fits").as_bool());

    // what gives: the least that the layout's plan needs is told, and is found where there is as much
    const std::string stated = config + " --layout fsdp=4 --sequence 2048 --batch 8 --threads 1 --compute roofline ";
    const auto hopeless = plan(folder, stated + "--memory " + std::to_string(state + 1));
    CHECK(hopeless.status == 1);
    CHECK(hopeless.err.find("; whatever it makes again, it needs ") != std::string::npos);
    CHECK(hopeless.out.find("whatever is made again in the backward part, it needs ") != std::string::npos);

    const sw::task_graph g = sw::read_task_graph(out / "tasks.json", {.strict = true});
    const sw::schedule s = sw::read_schedule(out / "schedule.json", g, {.strict = true});
    const sw::timeline replayed = sw::simulate(g, s);
    CHECK(replayed.end_to_end.count() == whole(fitted, "end_to_end_ns"));
    CHECK(replayed.peak.count() == whole(fitted, "peak_bytes"));
    std::size_t again = 0;
    for (sw::task_index t = 0; t < g.size(); ++t) again += g.name_of(t).ends_with(".again") ? 1U : 0U;
    CHECK(again > 0);
  }

  TEST_CASE("the first signal ends a search: the best so far is planned to the end and written") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    program_run run;
    for (const double wait : {1.0, 4.0, 16.0, 64.0}) {
      run = run_and_signal("plan_training",
                           config + shape + " --json --scheduler search --seconds 3000 --out " +
                               (folder / "plan").string() + " --certificate " + (folder / "proof.json").string() +
                               " --problem " + (folder / "problem.json").string(),
                           folder.path(), wait, {SIGINT});
      if (run.status == 3) break;
    }
    REQUIRE(run.status == 3);
    CHECK(run.err.ends_with("plan_training: stopping; the best so far is the answer (once more: end at once)\n"));
    CHECK(names_in(folder / "plan") == all_files);
    const auto line = object_of(run.out);
    CHECK(line.at("interrupted").as_bool());
    const sw::task_graph g = sw::read_task_graph(folder / "plan/tasks.json");
    const sw::timeline replayed = sw::simulate(g, sw::read_schedule(folder / "plan/schedule.json", g));
    CHECK(replayed.end_to_end.count() == whole(line, "end_to_end_ns"));
    // nobody waits for a proof then
    const auto& certificate = line.at("certificate").as_object();
    CHECK(certificate.at("lower_bound").is_null());
    CHECK(certificate.at("why_not").as_string() == "the stop came before a proof was looked for");
    CHECK(!std::filesystem::exists(folder / "proof.json"));
    CHECK_NOTHROW(static_cast<void>(sw::read_step_problem(folder / "problem.json")));
  }

  TEST_CASE("annotations are carried through the graph, and what they cost is told") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string line = config + shape + " --compute roofline --overlap off --gap 0 ";
    const auto free = object_of(plan(folder, line + "--json").out);
    CHECK(!free.contains("annotations"));
    const auto with = object_of(plan(folder, line + "--json --propagate").out);
    const auto& told = with.at("annotations").as_object();
    CHECK(whole(told, "left") < whole(told, "strategies"));
    CHECK(whole(told, "determined") > 0);
    CHECK(whole(told, "determined") <= whole(told, "touched"));
    const auto& without = told.at("without").as_object();
    CHECK(real(without, "objective_us") == doctest::Approx(real(free, "objective_us")).epsilon(1e-9));
    const double above = real(with, "objective_us") - real(free, "objective_us");
    CHECK(above >= -1e-6);
    CHECK(real(told, "costs_at_most_us") >= above - 1e-6);
    CHECK(real(told, "costs_at_least_us") <= above + 1e-6);
    CHECK(told.at("keeps_optimum").as_bool() == (above < 1e-6));
    const auto further = object_of(plan(folder, line + "--json --annotate 'layers.*.w1 1 S(0)'").out);
    CHECK(whole(further.at("annotations").as_object(), "determined") > 0);

    const auto text = plan(folder, line + "--propagate");
    CHECK(text.status == 0);
    CHECK(text.out.find("\nAnnotations\n") != std::string::npos);
    const std::vector<std::pair<std::string, std::string>> wrong{
        {"nothing 1 S(0)", "annotation 'nothing 1 S(0)': no operation has such a name"},
        {"layers.*.w1 7 S(0)", "there is no dimension 7 of mesh 4x2"},
        {"layers.*.w1 1", "'layers.*.w1 1' is no annotation; expected a name"}};
    for (const auto& [annotation, why] : wrong) {
      CAPTURE(annotation);
      const auto run = plan(folder, line + "--annotate '" + annotation + "'");
      CHECK(run.status != 0);
      CHECK(run.complaints().starts_with("plan_training: --annotate: "));
      CHECK_MESSAGE(run.err.find(why) != std::string::npos, run.err);
    }
  }

  TEST_CASE("a config of DeepSeek-V3's form plans, with its experts and their groups") {
    const temporary_folder folder;
    const std::string config = folder.write("deep.json", deep).string();
    const auto run = plan(folder, config + shape + " --compute roofline --overlap off --gap 0 --json");
    REQUIRE(run.status == 0);
    const auto line = object_of(run.out);
    CHECK(line.at("model").as_string() == "deep");
    CHECK(line.at("status").as_string() == "optimal");
    CHECK(whole(line, "collectives_before") > 0);
    const auto text = plan(folder, config + any_plan + " --overlap off");
    for (const char* word : {"deep, 0.0", "experts.w1", "router", "wkv_b", "shared.w2"})
      CHECK_MESSAGE(text.out.find(word) != std::string::npos, word);
    // its experts stay where they are: nothing of them is gathered, tokens go there and back, forwards and backwards
    const auto out = (folder / "stated").string();
    const auto stated = plan(folder, config + " --layout fsdp=4,ep=4 --sequence 512 --bucketing none --out " + out);
    CAPTURE(stated.err);
    REQUIRE(stated.status == 0);
    const sw::task_graph g = sw::read_task_graph(folder / "stated" / "tasks.json");
    std::size_t ways = 0;
    for (sw::task_index t = 0; t < g.size(); ++t)
      if (g.is_collective(t) && g.collective(t).op == sw::collective::all_to_all) ++ways;
    CHECK(ways >= 4);
    const auto wrong =
        plan(folder, folder.write("wrong.json", with(deep, "\"n_group\": 4", "\"n_group\": 3")).string());
    CHECK(wrong.status == 2);
    CHECK(wrong.err.find("n_routed_experts is 8, expected a multiple of n_group (3)") != std::string::npos);
    const auto other = plan(folder, folder.write("other.json", with(deep, "deepseek_v3", "gpt2")).string());
    CHECK(other.status == 2);
    CHECK(other.err.find("model_type is \"gpt2\", expected \"llama\", \"deepseek_v3\" or \"deepseek_v2\"") !=
          std::string::npos);
  }

  TEST_CASE("a batch of fewer sequences than devices is cut by positions, also in attention") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const std::string line = config + " --batch 1 --sequence 32768 --threads 1 --json ";
    const auto out = (folder / "plan").string();
    using three = std::array<std::string, 3>;
    for (const auto& [mesh, layout, ring] : shardweave_test::some_of(std::vector<three>{
             {"4", "fsdp=1,cp=4", "fsdp=1,ring=4"}, {"4x2", "fsdp=1,cp=4,tp=2", "fsdp=1,ring=4,tp=2"}})) {
      CAPTURE(mesh);
      const auto run = plan(folder, line + "--mesh " + mesh + " --out " + out);
      CAPTURE(run.err);
      REQUIRE(run.status == 0);
      const auto found = object_of(run.out), stated = object_of(plan(folder, line + "--layout " + layout).out);
      CHECK(whole(found, "end_to_end_ns") <= whole(stated, "end_to_end_ns"));
      CHECK(whole(found, "step_bound_ns") <= whole(found, "end_to_end_ns"));
      // nor than where keys and values go round, which is a plan of the search, too: what bounds all bounds it
      const auto rings =
          object_of(plan(folder, line + "--out " + (folder / "ring").string() + " --layout " + ring).out);
      CHECK(whole(found, "end_to_end_ns") <= whole(rings, "end_to_end_ns"));
      CHECK(whole(found, "step_bound_ns") <= whole(rings, "end_to_end_ns"));
      const sw::task_graph in_rings = sw::read_task_graph(folder / "ring" / "tasks.json");
      std::size_t shifts = 0;
      for (sw::task_index t = 0; t < in_rings.size(); ++t)
        if (in_rings.is_collective(t) && in_rings.collective(t).op == sw::collective::shift) ++shifts;
      CHECK(shifts == 2 * (3 + 3 + 4));
      // no device computes attention of all positions
      const sw::task_graph g = sw::read_task_graph(folder / "plan" / "tasks.json");
      std::size_t kernels = 0;
      for (sw::task_index t = 0; t < g.size(); ++t) {
        const std::string_view name = g.name_of(t);
        if (g.op(t) != "sdpa" || (name.ends_with("of4") && !name.ends_with(".4of4"))) continue;  // of blocks the last
        ++kernels;
        CHECK(g.output(t, 0).size.count() <= 32768 * 512 * 2 / 4);
      }
      CHECK(kernels == 2);
    }
    CHECK(plan(folder, line + "--mesh 4 --propagate").status == 0);
    if (shardweave_test::is_small_scale) return;
    // elsewhere it is a matter of asking, or of the step, and what may be chosen costs no less than what need not
    const auto cost = [&](const std::string& more) {
      return real(object_of(plan(folder, config + shape + " --json --gap 0" + more).out), "objective_us");
    };
    const double least = cost(" --context-parallel on"), unasked = cost("");
    CHECK(least <= unasked * (1 + 1e-9));
    CHECK(cost(" --context-parallel rings") <= least * (1 + 1e-9));
    CHECK(unasked == cost(" --context-parallel off"));
    const auto step = [&](const std::string& more) {
      return object_of(plan(folder, config + shape + " --json" + more).out);
    };
    const auto usual = step(""), may = step(" --context-parallel on"), may_not = step(" --context-parallel off");
    CHECK(whole(usual, "step_bound_ns") == whole(may, "step_bound_ns"));
    CHECK(whole(may, "step_bound_ns") <= whole(may_not, "end_to_end_ns"));
    CHECK(plan(folder, line + "--layout cp=4 --context-parallel on").status == 2);
  }

  TEST_CASE("a batch that does not fit the mesh ends with status 1 and names what cannot be placed") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto run = plan(folder, config + " --mesh 4x2 --sequence 3 --batch 3 --out " + (folder / "plan").string());
    CHECK(run.status == 1);
    REQUIRE(is_one_line(run.complaints()));
    CHECK(run.complaints().starts_with("plan_training: " + config + ": "));
    CHECK(run.err.find("'tokens' cannot be placed S(1)R") != std::string::npos);
    CHECK(run.out.empty());
    CHECK(!fs::exists(folder / "plan"));
  }

  TEST_CASE("no time at all ends with status 1") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto run = plan(folder, config + shape + " --seconds 0 --out " + (folder / "plan").string());
    CHECK(run.status == 1);
    CHECK(is_one_line(run.complaints()));
    CHECK(run.complaints().starts_with("plan_training: " + config + ": "));
    CHECK(!fs::exists(folder / "plan"));
  }

  TEST_CASE("wrong input and usage: status 2, one line that names the culprit, nothing written") {
    const temporary_folder folder;
    const std::string good = folder.write("tiny.json", tiny).string();
    const std::string cut = folder.write("cut.json", tiny.substr(0, 90)).string();
    const auto variant = [&](const char* name, const char* from, const char* to) {
      return folder.write(name, with(tiny, from, to)).string();
    };
    const std::string negative = variant("negative.json", "\"hidden_size\": 512", "\"hidden_size\": -512");
    const std::string text = variant("text.json", "\"vocab_size\": 2048", "\"vocab_size\": \"many\"");
    const std::string odd = variant("odd.json", "\"num_key_value_heads\": 4", "\"num_key_value_heads\": 3");
    const std::string absent = variant("absent.json", "\"vocab_size\"", "\"size_of_vocabulary\"");
    const std::string file = folder.write("file", "").string();
    const std::vector<std::pair<std::string, std::string>> cases = {
        {"", "config"},
        {"--colour red", "there is no option --colour"},
        {good + " --memory much", "--memory: found 'much', expected a size such as 80GiB, 500MB or 1000000"},
        {good + " --memory 80XB", "--memory: found '80XB', expected a size"},
        {good + " --sequence 0", "found '0', expected a whole number from 1 to 16777216"},
        {good + " --optimizer-bytes -1", "found '-1', expected a number from 0 to 1024"},
        {good + " --optimizer-bytes 1e15", "found '1e15', expected a number from 0 to 1024"},
        {good + " --recompute-every 2", "and --recompute is auto; expected full, selective_op or selective"},
        {(folder / "missing.json").string(), (folder / "missing.json").string() + ": cannot be opened"},
        {folder.path().string(), folder.path().string()},
        {cut, cut + ": line 2, byte 91: the text ends too early"},
        {negative, negative + ": line 1, byte "},
        {negative, "hidden_size is -512, expected a positive whole number"},
        {text, "vocab_size"},
        {odd, "num_attention_heads is 8, expected a multiple of num_key_value_heads (3)"},
        {absent, "vocab_size"},
        {good + " --device abacus", "abacus"},
        {good + " --mesh 8xfoo", "'8xfoo' is no mesh"},
        {good + " --mesh 8x0", "'8x0' is no mesh"},
        {good + " --mesh 0", "'0' is no mesh"},
        {good + " --mesh -2x2", "'-2x2' is no mesh"},
        {good + " --mesh ''", "'' is no mesh"},
        {good + " --solver magic", "magic"},
        {good + " --bucketing magic", "magic"},
        {good + " --scheduler magic", "magic"},
        {good + " --sequence 0", "--sequence"},
        {good + " --sequence 99999999999999", "--sequence"},
        {good + " --batch 0", "--batch"},
        {good + " --memory -1", "--memory"},
        {good + " --memory-budget -1", "--memory-budget"},
        {good + " --optimizer-bytes -1", "--optimizer-bytes"},
        {good + " --seconds -1", "--seconds"},
        {good + " --threads 0", "--threads"},
        {good + " --overlap always", "always"},
        {good + " --layers some", "some"},
        {good + " --colour red", "--colour"},
        {good + " " + good, good}};
    const auto before = names_in(folder.path());
    for (const auto& [arguments, culprit] : cases) {
      CAPTURE(arguments);
      const auto run = plan(folder, arguments + " --json --out " + (folder / "plan").string());
      CHECK(run.status == 2);
      CHECK_MESSAGE(is_one_line(run.complaints()), run.err);
      CHECK(run.complaints().starts_with("plan_training: "));
      CHECK_MESSAGE(run.err.find(culprit) != std::string::npos, run.err);
      CHECK(run.out.empty());
      CHECK(!fs::exists(folder / "plan"));
    }
    // a folder that cannot be: it is a file, and it lies below one
    for (const std::string& where : {file, file + "/below"}) {
      CAPTURE(where);
      const auto run = plan(folder, good + any_plan + " --out " + where);
      CHECK(run.status == 2);
      CHECK_MESSAGE(is_one_line(run.complaints()), run.err);
      CHECK(run.complaints().starts_with("plan_training: "));
      CHECK(run.err.find(file) != std::string::npos);
      CHECK(run.out.empty());
    }
    auto after = names_in(folder.path());
    after.erase("standard-error");
    CHECK(after == before);
  }

  TEST_CASE("where one of the files cannot be written none is") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    fs::create_directories(folder / "plan/trace.json");  // a folder in the way of the last file
    const auto run = plan(folder, config + any_plan + " --out " + (folder / "plan").string());
    CHECK(run.status == 2);
    CHECK(is_one_line(run.complaints()));
    CHECK(run.err.find("trace.json: cannot be opened for writing") != std::string::npos);
    CHECK(names_in(folder / "plan") == std::set<std::string>{"trace.json"});
    fs::remove(folder / "plan/trace.json");
    fs::create_directories(folder / "plan/report.html");
    CHECK(plan(folder, config + any_plan + " --out " + (folder / "plan").string()).status == 2);
    CHECK(names_in(folder / "plan") == std::set<std::string>{"report.html"});
  }

  TEST_CASE("the report tells step, bounds, prices and placement as the JSON line does") {
    const temporary_folder folder;
    const std::string config = folder.write("tiny.json", tiny).string();
    const auto line =
        object_of(plan(folder, config + shape + " --json --report " + (folder / "page.html").string()).out);
    const auto data_of_page = [&] {
      const std::string page = temporary_folder::read(folder / "page.html");
      const std::string_view open = "<script type=\"application/json\" id=\"data\">";
      const std::size_t from = page.find(open) + open.size();
      return boost::json::parse(page.substr(from, page.find("</script>", from) - from)).as_object();
    };
    const auto data = data_of_page();
    const auto& told = data.at("plans").at(0).at("totals").as_object();
    for (const char* name : {"end_to_end_ns", "exposed_ns", "hidden_ns", "communication_ns", "peak_bytes"})
      CHECK_MESSAGE(whole(told, name) == whole(line, name), name);
    CHECK(data.at("plans").at(1).at("name") == "least sum");
    CHECK(data.at("plans").at(1).at("totals").at("end_to_end_ns") == line.at("step_of_least_sum_ns"));
    CHECK(data.at("bounds").at(0).at("ns") == line.at("makespan_bound_ns"));
    CHECK(data.at("bounds").at(1).at("ns") == line.at("step_bound_ns"));
    double shares = 0, prices = 0;
    for (const auto& price : data.at("prices").as_array()) shares += price.at("share").to_number<double>();
    for (const auto& [name, price] : line.at("prices").as_object()) prices += price.to_number<double>();
    CHECK(shares == doctest::Approx(prices).epsilon(1e-4));
    // every parameter of the plan at its layer, with the strategy and the bytes of the summary's table
    const auto& placed = data.at("placement").as_object();
    CHECK(placed.at("kinds").at(0) == "Parameters");
    const auto& all = placed.at("plans").as_array();
    REQUIRE(all.size() == 2);
    const auto& rows = all[0].at("rows");
    CHECK(rows.at("label").as_array().size() == rows.at("size").as_array().size());
    std::size_t parameters = 0;
    for (const auto& kind : rows.at("kind").as_array()) parameters += kind == 0 ? 1U : 0U;
    CHECK(parameters > 0);
    CHECK(rows.at("kind").as_array().size() > parameters);
    CHECK(all[1].at("rows").at("label").as_array().size() == rows.at("label").as_array().size());
    CHECK(all[1].at("rows").at("label") != rows.at("label"));  // the least sum places in another way

    const auto sum = object_of(
        plan(folder, config + shape + " --json --objective sum --report " + (folder / "page.html").string()).out);
    const auto of_sum = data_of_page();
    CHECK(of_sum.at("plans").at(1).at("name") == "in order");
    CHECK(of_sum.at("plans").at(1).at("totals").at("collectives") == sum.at("collectives_before"));
    REQUIRE(of_sum.at("placement").at("plans").as_array().size() == 1);
    CHECK(of_sum.at("placement").at("plans").at(0).at("rows").at("label").as_array().size() ==
          all[1].at("rows").at("label").as_array().size());
  }

  TEST_CASE("--help names what can be chosen and ends well") {
    const temporary_folder folder;
    const auto run = plan(folder, "--help");
    CHECK(run.status == 0);
    CHECK(run.complaints().empty());
    for (const char* word : {"--mesh",      "--device",   "h100",        "--sequence",      "--batch",
                             "--solver",    "auto",       "--bucketing", "greedy",          "--scheduler",
                             "prefetch",    "--overlap",  "--memory",    "--memory-budget", "--optimizer-bytes",
                             "--propagate", "--annotate", "--seconds",   "--out",           "--json",
                             "--seed",      "--threads",  "--layers"})
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
    for (const char* word : {"\n  h100 ", "\n  nccl ", "\n  auto ", "\n  windows ", "\n  benefit ", "\n  prefetch ",
                             "80 GiB", "pull request 481", "Exit status"})
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
  }
}

}  // namespace plan_training_tests
