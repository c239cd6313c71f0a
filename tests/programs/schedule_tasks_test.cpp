#include "support/random_tasks.hpp"
#include "support/run_program.hpp"
#include "support/shared_data.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/schedule.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/schedule/compatibility.hpp>
#include <shardweave/schedule/overlap_scheduler.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/task_graph_builder.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <signal.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

TEST_SUITE("schedule_tasks") {
  TEST_CASE("the figures it prints are those of the schedule it writes, and never worse than its bound") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(11, {.blocks = 60});
    sw::write_task_graph(folder / "tasks.json.gz", g);
    for (const char* policies :
         {"", "--bucketing none", "--scheduler in_order", "--bucketing topological_span --scheduler overlap",
          "--bucketing after_split", "--scheduler torch_overlap_only", "--bucketing torch_default",
          "--bucketing none --scheduler torch_default", "--scheduler autoparallel_span_buckets",
          "--bucketing autoparallel_size_buckets --scheduler prefetch"}) {
      CAPTURE(policies);
      const auto run = run_program("schedule_tasks",
                                   (folder / "tasks.json.gz").string() + " --json " + policies + " --schedule " +
                                       (folder / "schedule.json").string(),
                                   folder.path());
      CHECK(run.status == 0);
      CHECK(run.complaints().empty());
      const auto line = boost::json::parse(run.out).as_object();
      const sw::timeline replayed = sw::simulate(g, sw::read_schedule(folder / "schedule.json", g, {.strict = true}));
      const auto number = [&](const char* field) { return line.at(field).to_number<std::int64_t>(); };
      CHECK(number("tasks") == static_cast<std::int64_t>(g.size()));
      CHECK(number("end_to_end_ns") == replayed.end_to_end.count());
      CHECK(number("exposed_ns") == replayed.exposed.count());
      CHECK(number("hidden_ns") == replayed.hidden.count());
      CHECK(number("tail_ns") == replayed.tail.count());
      CHECK(number("potentially_hidden") <= number("collectives_after"));
      CHECK(number("missed") <= number("potentially_hidden"));
      CHECK(number("hideable_exposed_ns") <= number("exposed_ns"));
      CHECK(number("peak_bytes") == replayed.peak.count());
      CHECK(number("collectives_after") == static_cast<std::int64_t>(replayed.collectives));
      CHECK(number("makespan_bound_ns") <= number("end_to_end_ns"));
    }
  }

  TEST_CASE("a Chakra trace is scheduled, its schedule replayed, its bounds proven") {
    const auto trace = shared_data("chakra/resnet50_data_parallel.et");
    if (!trace) return;
    const temporary_folder folder;
    const std::string priced = trace->string() + " --priced-on h100 --group-ranks 64";
    const std::string schedule = (folder / "schedule.json").string(), proof = (folder / "proof.json").string();
    const auto run = run_program("schedule_tasks",
                                 priced + " --json --schedule " + schedule + " --certificate " + proof, folder.path());
    REQUIRE(run.status == 0);
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("tasks").to_number<int>() == 215 + 54);  // 54 x (forward, two backward, one collective) - 1, waits
    CHECK(line.at("collectives_before").to_number<int>() == 54);
    const auto replayed = run_program(
        "replay_schedule",
        priced.substr(0, trace->string().size()) + " " + schedule + " --json" + priced.substr(trace->string().size()),
        folder.path());
    REQUIRE(replayed.status == 0);
    CHECK(boost::json::parse(replayed.out).at("end_to_end_ns") == line.at("end_to_end_ns"));
    const auto checked =
        run_program("check_certificate",
                    trace->string() + " " + proof + " --json" + priced.substr(trace->string().size()), folder.path());
    CHECK(checked.status == 0);
    CHECK(boost::json::parse(checked.out).at("accepted").as_bool());

    const auto unpriced = run_program("schedule_tasks", trace->string(), folder.path());
    CHECK(unpriced.status == 2);
    CHECK(unpriced.err == "schedule_tasks: " + trace->string() +
                              ": node 55 (COMM_COLL_NODE_fc1000_ALLREDUCE) states no duration, expected one where no "
                              "device is named whose collectives price it\n");
    sw::write_task_graph(folder / "tasks.json", random_tasks(1, {.blocks = 5}));
    const auto stated =
        run_program("schedule_tasks", (folder / "tasks.json").string() + " --group-ranks 8", folder.path());
    CHECK(stated.status == 2);
    CHECK(stated.err.find("--group-ranks is for Chakra traces") != std::string::npos);
  }

  TEST_CASE("unless told otherwise it ends no later than with any pass that it can name, and tells what it compared") {
    const temporary_folder folder;
    for (const std::uint64_t seed : {2U, 7U}) {
      sw::write_task_graph(folder / "tasks.json", random_tasks(seed, {.blocks = 50}));
      const auto end = [&](const std::string& options) {
        const auto run =
            run_program("schedule_tasks", (folder / "tasks.json").string() + " --json" + options, folder.path());
        REQUIRE(run.status == 0);
        return boost::json::parse(run.out);
      };
      const auto usual = end("");
      const auto& compared = usual.at("compared_end_ns").as_object();
      for (const char* pass : {"torch_default", "torch_no_prebucket", "torch_overlap_only", "autoparallel_span_buckets",
                               "autoparallel_size_buckets"}) {
        const auto named = end(std::string(" --scheduler ") + pass);
        CHECK(usual.at("end_to_end_ns").to_number<std::int64_t>() <=
              named.at("end_to_end_ns").to_number<std::int64_t>());
        CHECK(compared.at(pass).to_number<std::int64_t>() == named.at("end_to_end_ns").to_number<std::int64_t>());
        CHECK(named.at("compared_end_ns").as_object().empty());
      }
      CHECK(compared.contains("benefit"));
      CHECK(end(" --scheduler best_known").at("end_to_end_ns") == usual.at("end_to_end_ns"));
    }
    CHECK(run_program("schedule_tasks", (folder / "tasks.json").string(), folder.path()).out.find("Compared") !=
          std::string::npos);
  }

  TEST_CASE("durations come from a profiler's trace, which must know something of the graph") {
    const temporary_folder folder;
    sw::task_graph_builder b;
    const auto tensor = [&] { return sw::output_record{sw::bytes(8), b.add_storage(sw::bytes(8)), "bf16", {2, 2}}; };
    const auto x = b.add_task({.op = "input", .kind = sw::task_kind::input, .outputs = {tensor()}});
    for (const char* op : {"aten.mm.default", "aten.cat.default"})
      b.add_task({.op = op,
                  .kind = sw::task_kind::compute,
                  .duration = sw::nanoseconds(70),
                  .inputs = {x, x},
                  .outputs = {tensor()}});
    sw::write_task_graph(folder / "tasks.json", std::move(b).build());
    const auto trace = [&](const std::string& op) {
      return folder.write("trace.json",
                          R"({"traceEvents":[{"ph":"X","cat":"cpu_op","name":"aten::)" + op +
                              R"(","args":{"External id":1,"Input Dims":[[2,2],[2,2]]}},)"
                              R"({"ph":"X","cat":"kernel","name":"k","dur":1.5,"args":{"External id":1}}]})");
    };
    const auto run = [&](const std::string& options) {
      return run_program(
          "schedule_tasks",
          (folder / "tasks.json").string() + " --durations " + (folder / "trace.json").string() + options,
          folder.path());
    };
    trace("mm");
    const auto line = boost::json::parse(run(" --json").out);
    CHECK(line.at("end_to_end_ns").to_number<std::int64_t>() == 1'570);
    CHECK(line.at("durations_matched").to_number<std::int64_t>() == 1);
    CHECK(line.at("durations_unmatched").to_number<std::int64_t>() == 1);
    const std::string told = run("").out;
    CHECK(told.find("1 are not in it and keep what they had: aten.cat.default (1).") != std::string::npos);
    trace("bmm");
    CHECK(run("").status == 2);
    CHECK(run("").err.find("trace.json: has no call of an operator of") != std::string::npos);
  }

  TEST_CASE("every setting of exposure-driven scheduling is a flag, which does what it does in the library") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(9, {.blocks = 80});
    sw::write_task_graph(folder / "tasks.json", g);
    const auto run = [&](const std::string& options) {
      return run_program("schedule_tasks",
                         (folder / "tasks.json").string() + " --schedule " + (folder / "s.json").string() + options,
                         folder.path());
    };
    const std::vector<std::pair<std::string, void (*)(sw::overlap_settings&)>> changes{
        {"--in-flight 40", [](sw::overlap_settings& s) { s.in_flight = sw::bytes(40); }},
        {"--compute-ahead 1", [](sw::overlap_settings& s) { s.compute_ahead = 1; }},
        {"--candidates 1", [](sw::overlap_settings& s) { s.candidates = 1; }},
        {"--compute-share 0.3", [](sw::overlap_settings& s) { s.compute_share = 0.3; }},
        {"--memory-increase 3 --memory-ratio none",
         [](sw::overlap_settings& s) {
           s.memory_increase = sw::bytes(3);
           s.memory_ratio.reset();
         }},
        {"--memory-increase none --memory-ratio 0.01",
         [](sw::overlap_settings& s) {
           s.memory_increase.reset();
           s.memory_ratio = 0.01;
         }},
        {"--group-by-key false", [](sw::overlap_settings& s) { s.group_by_key = false; }},
        {"--off-path-batch 10", [](sw::overlap_settings& s) { s.off_path_batch = sw::bytes(10); }},
        {"--off-path-batch none", [](sw::overlap_settings& s) { s.off_path_batch.reset(); }},
        {"--merging-saves-latency false", [](sw::overlap_settings& s) { s.merging_saves_latency = false; }},
        {"--exact-batches true --off-path-batch 10", [](sw::overlap_settings& s) {
           s.exact_batches = true;
           s.off_path_batch = sw::bytes(10);
         }}};
    std::vector<std::vector<sw::task_index>> orders;
    for (const auto& [flags, change] : changes) {
      CAPTURE(flags);
      sw::overlap_scheduler policy;
      change(policy.settings);
      REQUIRE(run(" --bucketing none --scheduler overlap " + flags).status == 0);
      orders.push_back(sw::read_schedule(folder / "s.json", g).order);
      CHECK(orders.back() == policy(g, {}).order);
    }
    std::sort(orders.begin(), orders.end());
    CHECK(std::unique(orders.begin(), orders.end()) - orders.begin() > 4);  // they do something
    REQUIRE(run(" --scheduler torch_default --in-flight 1GiB --candidates 3").status == 0);
    sw::overlap_passes passes = sw::torch_default::passes();
    passes.settings.in_flight = sw::gibibytes(1);
    passes.settings.candidates = 3;
    CHECK(sw::read_schedule(folder / "s.json", g).order == passes.plan(g).order);
    const std::string help = run(" --help").out;
    for (const char* text :
         {"--in-flight", "(default: 5GiB)", "(default: 0.05)", "a whole number from 0 on", "or none"})
      CHECK_MESSAGE(help.find(text) != std::string::npos, text);
    CHECK(run(" --scheduler overlap --in-flight lots").err.find("found 'lots', expected a size from 0 on") !=
          std::string::npos);
    CHECK(run(" --scheduler overlap --candidates -1").err.find("expected a whole number from 0 on") !=
          std::string::npos);
    CHECK(run(" --candidates 3").err.find("--scheduler best_known has none of the settings that were given") !=
          std::string::npos);
  }

  TEST_CASE("the last line names the report, which has the figures of the schedule; equal runs write equal ones") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(3);
    sw::write_task_graph(folder / "tasks.json", g);
    const auto run = [&](const std::string& options) {
      return run_program("schedule_tasks", (folder / "tasks.json").string() + " --bucketing greedy " + options,
                         folder.path());
    };
    const std::string page = (folder / "page.html").string();
    const auto told = run("--report " + page + " --schedule " + (folder / "s.json").string());
    CHECK(told.status == 0);
    CHECK(told.out.ends_with("\nReport, for a browser: " + page + "\n"));
    const std::string text = temporary_folder::read(page);
    const std::string_view open = "<script type=\"application/json\" id=\"data\">";
    const std::size_t from = text.find(open) + open.size();
    const auto data = boost::json::parse(text.substr(from, text.find("</script>", from) - from)).as_object();
    const sw::timeline after = sw::simulate(g, sw::read_schedule(folder / "s.json", g));
    const auto& plans = data.at("plans").as_array();
    REQUIRE(plans.size() == 2);
    CHECK(plans[0].at("totals").at("end_to_end_ns") == after.end_to_end.count());
    CHECK(plans[0].at("totals").at("exposed_ns") == after.exposed.count());
    CHECK(plans[1].at("totals").at("end_to_end_ns") == sw::simulate(g).end_to_end.count());
    CHECK(data.at("bounds").as_array().size() == 2);
    CHECK(run("--json --report " + (folder / "again.html").string()).out.starts_with("{"));
    CHECK(temporary_folder::read(folder / "again.html") == text);
    CHECK(run("--report none").out.find("eport") == std::string::npos);
    const auto nowhere = run("--report " + (folder / "no/page.html").string());
    CHECK(nowhere.status == 2);
    CHECK(nowhere.err.find("no/page.html: cannot be opened for writing") != std::string::npos);
  }

  TEST_CASE("a memory budget that nothing meets ends with status 1 and writes nothing") {
    const temporary_folder folder;
    sw::write_task_graph(folder / "tasks.json", random_tasks(3));
    const std::string file = (folder / "tasks.json").string();
    const auto run = run_program(
        "schedule_tasks",
        file + " --memory 0 --schedule " + (folder / "s.json").string() + " --trace " + (folder / "t.json").string(),
        folder.path());
    CHECK(run.status == 1);
    CHECK(run.err.starts_with("schedule_tasks: " + file +
                              ": no order within the 0 B of --memory was found: the best one needs "));
    CHECK(run.err.ends_with("B\n"));
    CHECK(run.err.find('\n') == run.err.size() - 1);
    CHECK(!std::filesystem::exists(folder / "s.json"));
    CHECK(!std::filesystem::exists(folder / "t.json"));
  }

  TEST_CASE("the gap is that to the bound, and refusals are those in the schedule") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(5, {.blocks = 40});
    sw::write_task_graph(folder / "tasks.json", g);
    const auto run = run_program(
        "schedule_tasks",
        (folder / "tasks.json").string() + " --bucketing greedy --json --schedule " + (folder / "s.json").string(),
        folder.path());
    REQUIRE(run.status == 0);
    const auto line = boost::json::parse(run.out).as_object();
    const auto number = [&](const char* field) { return line.at(field).to_number<double>(); };
    CHECK(number("makespan_gap_percent") ==
          doctest::Approx(100 * (number("end_to_end_ns") / number("makespan_bound_ns") - 1)));
    CHECK(number("makespan_gap_percent") >= 0);
    const sw::schedule s = sw::read_schedule(folder / "s.json", g);
    std::size_t refused = 0;
    for (const auto& reason : line.at("refused").as_object()) {
      const auto times = std::count_if(s.decisions.begin(), s.decisions.end(), [&](const sw::decision& d) {
        return sw::to_string(d.reason) == std::string_view(reason.key());
      });
      CHECK(reason.value().to_number<std::int64_t>() == times);
      refused += static_cast<std::size_t>(times);
    }
    CHECK(refused == s.decisions.size());
    CHECK(refused > 0);
  }

  TEST_CASE("the trace ends when the timeline does, and the summary says why collectives stayed as they are") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(5, {.blocks = 40});
    sw::write_task_graph(folder / "tasks.json", g);
    const std::string common =
        (folder / "tasks.json").string() + " --bucketing greedy --trace " + (folder / "t.json").string();
    const auto run = run_program("schedule_tasks", common, folder.path());
    CHECK(run.status == 0);
    CHECK(run.complaints().empty());
    for (const char* word : {"end to end", "exposed", "peak memory", "as given", "scheduled", "above the best",
                             "could hide", "collective", "refused", "because"})
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
    const auto line = boost::json::parse(run_program("schedule_tasks", common + " --json", folder.path()).out);
    const auto trace = boost::json::parse(temporary_folder::read(folder / "t.json"));
    const auto& events = trace.is_object() ? trace.at("traceEvents").as_array() : trace.as_array();
    double last = 0;
    for (const auto& event : events)
      if (event.at("ph").as_string() == "X")
        last = std::max(last, event.at("ts").to_number<double>() + event.at("dur").to_number<double>());
    CHECK(last == doctest::Approx(line.at("end_to_end_ns").to_number<double>() / 1000).epsilon(1e-9));
  }

  TEST_CASE("with the durations of fused operations it schedules those, and writes a schedule of the file's graph") {
    const temporary_folder folder;
    const auto write = [&](const char* name, bool has_fused) {
      sw::task_graph_builder b;
      b.add_task({.op = "mul", .duration = sw::nanoseconds(70)});
      b.add_task({.op = "add", .duration = sw::nanoseconds(30), .inputs = {0}});
      if (has_fused) b.fused_durations = {sw::nanoseconds(40), sw::nanoseconds(0)};
      const sw::task_graph g = std::move(b).build();
      sw::write_task_graph(folder / name, g);
      return g;
    };
    const sw::task_graph g = write("tasks.json", true);
    const std::string common = (folder / "tasks.json").string() + " --json --schedule " + (folder / "s.json").string();
    const auto end_of = [&](const std::string& arguments) {
      return boost::json::parse(run_program("schedule_tasks", common + arguments, folder.path()).out)
          .at("end_to_end_ns")
          .to_number<std::int64_t>();
    };
    CHECK(end_of("") == 100);
    CHECK(end_of(" --durations fused") == 40);
    CHECK(sw::simulate(g, sw::read_schedule(folder / "s.json", g)).end_to_end == sw::nanoseconds(100));
    write("plain.json", false);
    const std::string plain = (folder / "plain.json").string();
    const auto refused = run_program("schedule_tasks", plain + " --durations fused", folder.path());
    CHECK(refused.status == 2);
    CHECK(refused.err ==
          "schedule_tasks: " + plain + ": alternatives.duration_fused is missing, which --durations fused asks for\n");
  }

  TEST_CASE("two runs write the same schedule and trace") {
    const temporary_folder folder;
    sw::write_task_graph(folder / "tasks.json", random_tasks(8, {.blocks = 40}));
    for (const char* name : {"one", "two"})
      CHECK(run_program("schedule_tasks",
                        (folder / "tasks.json").string() + " --json --schedule " + (folder / name).string() +
                            ".json --trace " + (folder / name).string() + ".trace",
                        folder.path())
                .status == 0);
    for (const char* kind : {".json", ".trace"}) {
      const std::string one = temporary_folder::read(folder / (std::string("one") + kind));
      CHECK(!one.empty());
      CHECK(one == temporary_folder::read(folder / (std::string("two") + kind)));
    }
  }

  TEST_CASE("the first signal ends a search: the best so far is written, with a status of its own") {
    const temporary_folder folder;
    const sw::task_graph g = random_tasks(8, {.blocks = 40});
    sw::write_task_graph(folder / "tasks.json", g);
    program_run run;
    for (const double wait : {0.5, 2.0, 8.0, 32.0}) {
      run = run_and_signal("schedule_tasks",
                           (folder / "tasks.json").string() + " --json --scheduler search --seconds 900 --schedule " +
                               (folder / "s.json").string(),
                           folder.path(), wait, {SIGINT});
      if (run.status == 3) break;
    }
    REQUIRE(run.status == 3);
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("interrupted").as_bool());
    CHECK(sw::simulate(g, sw::read_schedule(folder / "s.json", g)).end_to_end.count() ==
          line.at("end_to_end_ns").to_number<std::int64_t>());
  }

  TEST_CASE("--help says what each bucketing and scheduler is for") {
    const temporary_folder folder;
    const auto run = run_program("schedule_tasks", "--help", folder.path());
    CHECK(run.status == 0);
    for (const char* word : {"\n  benefit ", "\n  none ", "\n  prefetch ", "\n  exact ",
                             "\n  autoparallel_size_buckets ", "pull request 481", "pull request 412"})
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
  }

  TEST_CASE("wrong input ends with status 2 and one line") {
    const temporary_folder folder;
    sw::write_task_graph(folder / "good.json", random_tasks(3));
    const std::string good = (folder / "good.json").string();
    const std::string text = temporary_folder::read(folder / "good.json");
    const std::string cut = folder.write("cut.json", text.substr(0, text.size() / 2)).string();
    for (const auto& [arguments, culprit] : std::vector<std::pair<std::string, std::string>>{
             {"", "tasks is required"},
             {(folder / "missing.json").string(), "missing.json: cannot be opened"},
             {cut, cut + ": line "},
             {good + " --bucketing magic", "magic"},
             {good + " --scheduler magic", "magic"},
             {good + " --durations magic", "--durations"},
             {good + " --memory -3", "--memory"},
             {good + " --schedule " + good, "--schedule: " + good + " is the tasks, too, expected a file of its own"},
             {good + " --schedule new.json --trace ./new.json", "--trace: ./new.json is --schedule, too"},
             {good + " --certificate new.json --report new.json", "--report: new.json is --certificate, too"},
             {good + " --schedule " + (folder / "no/such.json").string(), "no/such.json: cannot be opened"},
             {good + " --trace " + (folder / "no/such.json").string(), "no/such.json: cannot be opened"}}) {
      CAPTURE(arguments);
      const auto run = run_program("schedule_tasks", arguments + " --json", folder.path());
      CHECK(run.status == 2);
      CHECK(run.err.starts_with("schedule_tasks: "));
      CHECK(run.err.find('\n') == run.err.size() - 1);
      CHECK_MESSAGE(run.err.find(culprit) != std::string::npos, run.err);
      CHECK(run.out.empty());
    }
    CHECK(temporary_folder::read(folder / "good.json") == text);
    CHECK(
        run_program("schedule_tasks", good + " --json --schedule /dev/null --trace /dev/null", folder.path()).status ==
        0);
    const std::string file = folder.write("wrong.json", "{\"format\": \"shardweave.placement\"}").string();
    const auto run = run_program("schedule_tasks", file, folder.path());
    CHECK(run.status == 2);
    CHECK(run.err == "schedule_tasks: " + file +
                         ": line 1, byte 33: format is \"shardweave.placement\", expected \"shardweave.tasks\"\n");
  }
}
