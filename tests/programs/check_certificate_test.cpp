#include "support/contest_example.hpp"
#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/bucketing/greedy.hpp>
#include <shardweave/io/json_file.hpp>
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/order_certificate.hpp>
#include <shardweave/io/placement_certificate.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/io/write_tasks.hpp>
#include <shardweave/placement/check_certificate.hpp>
#include <shardweave/schedule/certify_order.hpp>
#include <shardweave/simulate/simulate.hpp>
#include <shardweave/tasks/check_order_certificate.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <support/random_certificate.hpp>
#include <support/random_order_certificate.hpp>
#include <support/random_problem.hpp>
#include <support/random_savings.hpp>
#include <support/random_tasks.hpp>
#include <support/scale.hpp>
#include <support/shared_data.hpp>
#include <support/skipped.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace check_certificate_program_tests {
namespace {

using shardweave_test::contest_example;

/// How many random problems to have checked by the second checker; SHARDWEAVE_PROOFS asks for more.
std::size_t problems_to_check() {
  const char* told = std::getenv("SHARDWEAVE_PROOFS");
  return told != nullptr ? static_cast<std::size_t>(std::atoi(told)) : shardweave_test::at_scale(100);
}

bool has_python() { return std::system("python3 -c 'import fractions' >/dev/null 2>&1") == 0; }

/// What the second checker says of each pair of files: a line each.
std::vector<std::string> second_opinion(const std::string& pairs, const temporary_folder& folder) {
  const auto out = folder / "second-opinion";
  static_cast<void>(std::system(
      ("python3 " SHARDWEAVE_SOURCE_DIR "/tests/proofs/check_certificate.py " + pairs + " >" + out.string()).c_str()));
  std::istringstream text(temporary_folder::read(out));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// The number that a line of the second checker says is proven.
double proven_in(const std::string& line) { return std::stod(line.substr(line.find(": ") + 2)); }

bool accepts(const std::string& line) {
  CHECK((line.starts_with("accepted: ") || line.starts_with("not accepted: ")));
  return line.starts_with("accepted: ");
}

/// Proofs that both checkers are asked about, many at once, and how often they were right.
class two_checkers {
 public:
  /// \param accepted  by the first one
  /// \param bound     that it says is proven; nothing: not compared
  void ask(const std::string& problem, const std::string& proof, bool accepted, std::optional<double> bound,
           bool claims_too_much) {
    pairs_ += " " + problem + " " + proof;
    asked_.push_back({accepted, bound, claims_too_much});
  }
  [[nodiscard]] std::size_t asked() const { return asked_.size(); }
  void compare(const temporary_folder& folder) {
    const auto lines = second_opinion(pairs_, folder);
    REQUIRE(lines.size() == asked_.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      CAPTURE(i);
      CAPTURE(lines[i]);
      const question& q = asked_[i];
      CHECK(accepts(lines[i]) == q.accepted);
      if (q.accepted && q.bound) CHECK(proven_in(lines[i]) == *q.bound);
      right += q.accepted ? 1U : 0U;
      wrong += q.claims_too_much ? 1U : 0U;
      refused += q.claims_too_much && !q.accepted && !accepts(lines[i]) ? 1U : 0U;
    }
    pairs_.clear();
    asked_.clear();
  }
  void tell() const {
    MESSAGE(right << " proofs accepted by both, " << refused << " of " << wrong << " wrong ones refused by both");
    CHECK(refused == wrong);
  }

  std::size_t right = 0, wrong = 0, refused = 0;

 private:
  struct question {
    bool accepted;
    std::optional<double> bound;
    bool claims_too_much;
  };
  std::string pairs_;
  std::vector<question> asked_;
};

}  // namespace

TEST_SUITE("check_certificate (program)") {
  TEST_CASE("of an answer with a certificate no more is claimed than that proves, and no less") {
    const temporary_folder folder;
    // costs that pull at each other around many cycles: a dynamic program proves the optimum at once, that of the
    // solver and that of a proof; messages and branching do not
    std::string vertices, edges;
    for (int v = 0; v < 60; ++v) {
      vertices += (v > 0 ? "," : "") + std::string("{\"compute\":[0,0,0]}");
      for (const int step : {1, 2})
        edges += (edges.empty() ? "" : ",") + std::string("{\"from\":") + std::to_string(v) +
                 ",\"to\":" + std::to_string((v + step) % 60) + ",\"communication\":" + std::to_string(v % 2) + "}";
    }
    const auto hard =
        folder
            .write("hard.json", "{\"format\":\"shardweave.placement\",\"version\":1,\"vertices\":[" + vertices +
                                    "],\"matrices\":[[5,1,2,1,6,1,3,1,4],[7,2,1,1,4,3,2,1,9]],\"edges\":[" + edges +
                                    "]}")
            .string();
    // usage that a solver judges to be above the limit, and a checker, whose tolerance is wider, not
    const auto edge =
        folder
            .write("edge.json",
                   R"({"format":"shardweave.placement","version":1,"vertices":[{"compute":[0,5]},{"compute":[1,2]}],
  "edges":[],"budgets":[{"name":"memory","high":1,"terms":[{"vertex":0,"usage":[1.000002,0]}]}]})")
            .string();
    const auto easy = folder.write("easy.json", contest_example).string(), proof = (folder / "proof.json").string();
    std::size_t less = 0, more = 0;
    for (const std::string& what :
         {hard + " --seconds 0.5 --solver elimination", hard + " --seconds 0.5 --solver local_search",
          easy + " --seconds 1e-9 --solver exhaustive", edge + " --solver exhaustive", easy}) {
      const auto solved = run_program("solve_placement", what + " --json --certificate " + proof, folder.path());
      CAPTURE(what);
      REQUIRE(solved.status <= 1);
      const auto said = boost::json::parse(solved.out).as_object();
      const auto& certified = said.at("certificate").as_object();
      const double bound = said.at("lower_bound").to_number<double>();
      const bool proves = certified.at("proves_answer").as_bool();
      CHECK((said.at("status").as_string() == "optimal") == proves);
      if (!proves) CHECK(bound == certified.at("lower_bound").to_number<double>());
      if (certified.contains("solver_status")) {
        ++less;
        CHECK(certified.at("solver_status").as_string() == "optimal");
        CHECK(certified.at("solver_lower_bound").to_number<double>() > bound);
        CHECK(said.at("status").as_string() == "feasible");
      } else if (!proves) {
        ++more;
      }
    }
    CHECK(less == 1);
    CHECK(more == 2);  // of local search, and of a search that was stopped at once
  }
  TEST_CASE("a proof is accepted, one that claims more is refused by the step that does not hold") {
    const temporary_folder folder;
    const auto problem = folder.write("problem.json", contest_example).string(),
               proof = (folder / "proof.json").string();
    const auto solved = run_program("solve_placement", problem + " --json --certificate " + proof, folder.path());
    REQUIRE(solved.status == 0);
    const auto certified = boost::json::parse(solved.out).as_object().at("certificate").as_object();
    CHECK(certified.at("proves_answer").as_bool());
    CHECK(certified.at("lower_bound").to_number<double>() == 445);
    const auto checked = run_program("check_certificate", problem + " " + proof + " --json", folder.path());
    CHECK(checked.status == 0);
    CHECK(checked.complaints().empty());
    const auto said = boost::json::parse(checked.out).as_object();
    CHECK(said.at("accepted").as_bool());
    CHECK(said.at("bound").to_number<double>() == 445);
    CHECK(said.at("steps").to_number<int>() > 0);

    std::string text = temporary_folder::read(proof);
    const std::size_t at = text.find("\"lower_bound\":445");
    REQUIRE(at != std::string::npos);
    const auto wrong = folder.write("wrong.json", text.replace(at, 17, "\"lower_bound\":446")).string();
    const auto refused = run_program("check_certificate", problem + " " + wrong + " --json", folder.path());
    CHECK(refused.status == 1);
    CHECK(refused.err.find("expected no less than 446, which is claimed") != std::string::npos);
    CHECK(!boost::json::parse(refused.out).as_object().at("accepted").as_bool());
    CHECK(run_program("check_certificate", problem + " " + problem, folder.path()).status == 2);
    if (!has_python()) return shardweave_test::skipped("there is no python3 for the second checker");
    const auto lines = second_opinion(problem + " " + proof + " " + problem + " " + wrong, folder);
    REQUIRE(lines.size() == 2);
    CHECK(accepts(lines[0]));
    CHECK(!accepts(lines[1]));
  }
  TEST_CASE("a bound on the step of every plan is proven, prices and all, and both checkers agree") {
    const temporary_folder folder;
    const auto config = folder.write("tiny.json", R"({"model_type": "llama", "hidden_size": 512,
      "intermediate_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 2, "num_key_value_heads": 4,
      "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 2048})");
    const std::string proof = (folder / "proof.json").string(), problem = (folder / "problem.json").string();
    const std::string mesh =
        shardweave_test::sized("4x2", "4");  // a problem of 16 MB, which the second checker reads twice
    const auto planned =
        run_program("plan_training",
                    config.string() + " --mesh " + mesh + " --sequence 256 --batch 8 --threads 1 --json " +
                        "--certificate " + proof + " --problem " + problem,
                    folder.path());
    REQUIRE_MESSAGE(planned.status == 0, planned.err);
    const auto told = boost::json::parse(planned.out).as_object();
    const double bound = told.at("certificate").as_object().at("lower_bound").to_number<double>();
    const auto found = told.at("step_bound_ns").to_number<double>();
    CHECK(bound >= 0.99 * found);
    CHECK(bound <= told.at("end_to_end_ns").to_number<double>());
    const auto checked = run_program("check_certificate", problem + " " + proof + " --json", folder.path());
    CHECK(checked.status == 0);
    CHECK(boost::json::parse(checked.out).as_object().at("bound").to_number<double>() == bound);
    // twice the weight of a claim: twice its part of the bound, if that were allowed
    std::string text = temporary_folder::read(proof);
    const std::string bits = "\"weight_bits\":30";
    REQUIRE(text.find(bits) != std::string::npos);
    text.replace(text.find(bits), bits.size(), "\"weight_bits\":29");
    const auto wrong = folder.write("wrong.json", text).string();
    const auto refused = run_program("check_certificate", problem + " " + wrong, folder.path());
    CHECK(refused.status == 1);
    CHECK(refused.err.find("weights add up to more than 1") != std::string::npos);
    if (!has_python()) return shardweave_test::skipped("there is no python3 for the second checker");
    const auto lines = second_opinion(problem + " " + proof + " " + problem + " " + wrong, folder);
    REQUIRE(lines.size() == 2);
    CHECK(accepts(lines[0]));
    CHECK(!accepts(lines[1]));
  }
  TEST_CASE("so is one within the memory, whose claims have heads and prices" *
            doctest::skip(shardweave_test::is_small_scale)) {
    const temporary_folder folder;
    const auto config = folder.write("tiny.json", R"({"model_type": "llama", "hidden_size": 512,
      "intermediate_size": 1024, "num_attention_heads": 8, "num_hidden_layers": 4, "num_key_value_heads": 4,
      "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": false, "vocab_size": 2048})");
    const std::string proof = (folder / "proof.json").string(), problem = (folder / "problem.json").string();
    const std::string line = config.string() + " --mesh 4 --sequence 1024 --batch 8 --threads 1 --json ";
    const auto whole = [&](const program_run& run, const char* name) {
      return boost::json::parse(run.out).at(name).to_number<double>();
    };
    const auto free = run_program("plan_training", line, folder.path());
    const double held = whole(free, "peak_bytes") + whole(free, "optimizer_bytes");
    const auto planned = run_program("plan_training",
                                     line + "--memory " + std::to_string(static_cast<std::int64_t>(0.6 * held)) +
                                         " --certificate " + proof + " --problem " + problem,
                                     folder.path());
    REQUIRE_MESSAGE(planned.status == 0, planned.err);
    CHECK(whole(planned, "recomputed_ns") > 0);
    const std::string text = temporary_folder::read(proof);
    REQUIRE(text.find("\"head\"") != std::string::npos);
    const auto told = boost::json::parse(planned.out).at("certificate").at("lower_bound").to_number<double>();
    CHECK(told <= whole(planned, "end_to_end_ns"));
    const auto checked = run_program("check_certificate", problem + " " + proof + " --json", folder.path());
    REQUIRE_MESSAGE(checked.status == 0, checked.err);
    CHECK(whole(checked, "bound") == doctest::Approx(told).epsilon(1e-9));
    // a vertex that may come before the head ends
    std::string early = text;
    const std::string later = "\"later\":[";
    early.insert(early.find(later) + later.size(), "0,");
    const auto wrong = folder.write("wrong.json", early).string();
    CHECK(run_program("check_certificate", problem + " " + wrong, folder.path()).status == 1);
    if (!has_python()) return shardweave_test::skipped("there is no python3 for the second checker");
    const auto lines = second_opinion(problem + " " + proof + " " + problem + " " + wrong, folder);
    REQUIRE(lines.size() == 2);
    CHECK(accepts(lines[0]));
    CHECK(std::abs(proven_in(lines[0]) / told - 1) < 1e-6);
    CHECK(!accepts(lines[1]));
  }
  TEST_CASE("a second checker in another language agrees, on proofs and on what was spoiled in them") {
    if (!has_python()) return shardweave_test::skipped("there is no python3 for the second checker");
    two_checkers both;
    constexpr std::size_t at_once = 50;
    for (std::size_t begin = 0; begin < problems_to_check(); begin += at_once) {
      const temporary_folder folder;
      for (std::uint64_t seed = begin; seed < begin + at_once && seed < problems_to_check(); ++seed) {
        const bool saves = seed % 3 == 0;
        const auto stated = saves ? shardweave_test::draw_savings_problem<double>(seed)
                                  : shardweave_test::draw_problem<double>(seed, {.max_assignments = 256});
        const auto best =
            saves ? shardweave_test::brute_force_with_savings(stated) : shardweave_test::brute_force(stated);
        auto c = shardweave_test::draw_certificate(stated.description, seed);
        const auto proven = sw::proven_by(stated.description, c);
        c.infeasible = proven.accepted && sw::is_forbidden(proven.bound);
        if (!c.infeasible) c.lower_bound = proven.bound;
        const auto problem = folder / ("problem" + std::to_string(seed) + ".json");
        sw::write_placement(problem, stated.description);
        const auto add = [&](const sw::placement_certificate<double>& one, bool claims_too_much) {
          const auto file = folder / ("proof" + std::to_string(both.asked()) + ".json");
          sw::write_certificate(file, one);
          const bool accepted = sw::check_certificate(stated.description, one).accepted;
          both.ask(problem.string(), file.string(), accepted, std::nullopt, claims_too_much);
        };
        add(c, false);
        auto more = c;
        more.lower_bound = std::nextafter(c.lower_bound, std::numeric_limits<double>::infinity());
        add(more, false);
        if (!best.objective) continue;
        shardweave_test::spoil(c, seed);
        add(c, false);
        c.lower_bound = *best.objective + 1;
        add(c, true);
      }
      both.compare(folder);
    }
    both.tell();
    CHECK(both.right > problems_to_check() / 2);
    CHECK(both.wrong > problems_to_check() / 4);
  }
  TEST_CASE("bounds on orders are proven, of any buckets and of those chosen, and both checkers agree") {
    const temporary_folder folder;
    const auto tasks = (folder / "tasks.json").string(), proof = (folder / "proof.json").string();
    sw::write_task_graph(tasks, random_tasks(7, {.blocks = 30}));
    const auto scheduled = run_program("schedule_tasks", tasks + " --json --certificate " + proof, folder.path());
    REQUIRE_MESSAGE(scheduled.status == 0, scheduled.err);
    const auto told = boost::json::parse(scheduled.out).as_object();
    const auto checked = run_program("check_certificate", tasks + " " + proof + " --json", folder.path());
    REQUIRE_MESSAGE(checked.status == 0, checked.err);
    const auto said = boost::json::parse(checked.out).as_object();
    CHECK(said.at("of").as_string() == "order");
    CHECK(said.at("bound") == told.at("makespan_bound_ns"));
    CHECK(said.at("bound_of_buckets") == told.at("makespan_bound_of_buckets_ns"));
    CHECK(run_program("check_certificate", tasks + " " + proof, folder.path())
              .out.starts_with("accepted: no order with any buckets ends before "));

    std::string text = temporary_folder::read(proof);
    const std::string bound =
        "\"lower_bound\":" + std::to_string(told.at("makespan_bound_ns").to_number<std::int64_t>());
    REQUIRE(text.find(bound) != std::string::npos);
    const auto wrong =
        folder.write("wrong.json", text.replace(text.find(bound), bound.size(), "\"lower_bound\":1000000")).string();
    const auto refused = run_program("check_certificate", tasks + " " + wrong, folder.path());
    CHECK(refused.status == 1);
    CHECK(refused.err.find("proofs[0]: proves ") != std::string::npos);
    const auto empty = folder
                           .write("empty.json", R"({"format": "shardweave.certificate", "version": 1, "of": "order",
      "proofs": []})")
                           .string();
    CHECK(run_program("check_certificate", tasks + " " + empty, folder.path()).status == 2);
    const auto fused = folder
                           .write("fused.json", R"({"format": "shardweave.certificate", "version": 1, "of": "order",
      "durations": "fused", "proofs": [{"lower_bound": 0}]})")
                           .string();
    CHECK(run_program("check_certificate", tasks + " " + fused, folder.path()).status == 2);
    CHECK(run_program("schedule_tasks", tasks + " --durations x.json --certificate " + proof, folder.path()).status ==
          2);
    if (!has_python()) return shardweave_test::skipped("there is no python3 for the second checker");
    const auto lines = second_opinion(tasks + " " + proof + " " + tasks + " " + wrong, folder);
    REQUIRE(lines.size() == 2);
    CHECK(accepts(lines[0]));
    CHECK(!accepts(lines[1]));
  }
  TEST_CASE("the second checker agrees on random proofs about orders, and on what was spoiled in them") {
    if (!has_python()) return shardweave_test::skipped("there is no python3 for the second checker");
    two_checkers both;
    constexpr std::size_t at_once = 50;
    for (std::size_t begin = 0; begin < problems_to_check(); begin += at_once) {
      const temporary_folder folder;
      for (std::uint64_t seed = begin; seed < begin + at_once && seed < problems_to_check(); ++seed) {
        const sw::task_graph g = random_tasks(seed, {.blocks = 4 + seed % 12, .groups = 1 + seed % 3});
        const auto tasks = folder / ("tasks" + std::to_string(seed) + ".json");
        sw::write_task_graph(tasks, g);
        const auto add = [&](const sw::order_certificate& one, bool claims_too_much) {
          const auto file = folder / ("proof" + std::to_string(both.asked()) + ".json");
          sw::write_certificate(file, {.proofs = {one}});
          const auto verdict = sw::check_certificate(g, one);
          both.ask(tasks.string(), file.string(), verdict.accepted, static_cast<double>(verdict.bound.count()),
                   claims_too_much);
        };
        const auto buckets = sw::greedy{.cap = sw::bytes(60), .fsdp_only = false, .needs_gain = false}(g).buckets;
        auto proof = seed % 2 == 0 ? sw::certify_all_bucketings(g) : sw::certify_order(g, buckets);
        add(proof, false);
        add(shardweave_test::draw_order_certificate(g, seed), false);
        shardweave_test::spoil(proof, seed);
        add(proof, false);
        proof.lower_bound = sw::simulate(g).end_to_end + sw::nanoseconds(1);
        if (!proof.buckets) add(proof, true);
      }
      both.compare(folder);
    }
    both.tell();
    CHECK(both.right > problems_to_check());
    CHECK(both.wrong >= problems_to_check() / 2);
  }
  TEST_CASE("bounds on the orders of real task graphs are proven, and both checkers agree") {
    for (const char* name : {"llama3-8b-fw-64-2d", "llama3-8b-bw-64-1d", "deepseek-v3-bw-64"}) {
      CAPTURE(name);
      const auto tasks = shared_data(std::string("tasks/") + name + ".json.gz");
      if (!tasks) continue;
      const temporary_folder folder;
      const auto proof = (folder / "proof.json.gz").string();
      const auto scheduled = run_program(
          "schedule_tasks", tasks->string() + " --bucketing greedy --scheduler in_order --json --certificate " + proof,
          folder.path());
      REQUIRE_MESSAGE(scheduled.status == 0, scheduled.err);
      const auto checked = run_program("check_certificate", tasks->string() + " " + proof + " --json", folder.path());
      REQUIRE_MESSAGE(checked.status == 0, checked.err);
      CHECK(boost::json::parse(checked.out).at("bound") == boost::json::parse(scheduled.out).at("makespan_bound_ns"));
      if (!has_python()) continue;
      const auto lines = second_opinion(tasks->string() + " " + proof, folder);
      REQUIRE(lines.size() == 1);
      CHECK(accepts(lines[0]));
    }
  }
  TEST_CASE("optima of real problems are proven, and both checkers agree") {
    for (const std::string name : {"tiny2-2d-4x2", "llama3-1b-1d-64", "llama3-8b-2d-8x8"}) {
      if (shardweave_test::is_small_scale && name != "tiny2-2d-4x2") continue;
      CAPTURE(name);
      const auto problem = shared_data("placement/" + name + ".json.gz");
      if (!problem) continue;
      const temporary_folder folder;
      const auto proof = (folder / "proof.json.gz").string();
      const auto solved =
          run_program("solve_placement", problem->string() + " --json --certificate " + proof, folder.path());
      REQUIRE(solved.status == 0);
      CHECK(boost::json::parse(solved.out).as_object().at("certificate").as_object().at("proves_answer").as_bool());
      const auto checked = run_program("check_certificate", problem->string() + " " + proof, folder.path());
      CHECK(checked.status == 0);
      CHECK(checked.out.starts_with("accepted: no assignment costs less than "));
#ifndef __OPTIMIZE__
      if (!shardweave_test::is_small_scale && name != "llama3-1b-1d-64") continue;
#endif
      if (!has_python()) continue;
      const auto lines = second_opinion(problem->string() + " " + proof, folder);
      REQUIRE(lines.size() == 1);
      CHECK(accepts(lines[0]));
    }
  }
}

}  // namespace check_certificate_program_tests
