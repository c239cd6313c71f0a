#include "support/contest_example.hpp"
#include "support/run_program.hpp"
#include "support/temporary_folder.hpp"
#include <shardweave/io/json_writer.hpp>
#include <shardweave/io/placement.hpp>
#include <shardweave/io/placement_file.hpp>
#include <shardweave/io/solution.hpp>
#include <shardweave/io/write_placement.hpp>
#include <shardweave/overlap/window.hpp>
#include <shardweave/placement/evaluate.hpp>

#include <boost/json.hpp>
#include <doctest/doctest.h>
#include <signal.h>
#include <support/shared_data.hpp>
#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace solve_placement_tests {
namespace {

using shardweave_test::contest_example;

const std::string impossible = R"({"format": "shardweave.placement", "version": 1, "name": "none", "vertices":
 [{"name": "a", "compute": [1]}, {"name": "b", "compute": [1]}], "matrices": [[null]],
 "edges": [{"from": 0, "to": 1, "communication": 0}]})";

/// Random costs on a dense graph: easy to answer, far from provable.
std::string hard() {
  std::uint64_t state = 12345;
  const auto draw = [&] { return (state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 40 & 1023; };
  const auto list = [&](int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i > 0 ? "," : "") + std::to_string(draw());
    return "[" + text + "]";
  };
  constexpr int vertices = 150, strategies = 6;
  std::string nodes, tables, edges;
  int count = 0;
  for (int v = 0; v < vertices; ++v) {
    nodes += std::string(v > 0 ? "," : "") + "{\"name\":\"v" + std::to_string(v) +
             "\",\"compute\":" + list(strategies) + "}";
    for (int u = 0; u < v; ++u) {
      if (draw() % 8 != 0) continue;
      tables += (count > 0 ? "," : "") + list(strategies * strategies);
      edges += std::string(count > 0 ? "," : "") + "{\"from\":" + std::to_string(u) + ",\"to\":" + std::to_string(v) +
               ",\"communication\":" + std::to_string(count) + "}";
      ++count;
    }
  }
  return R"({"format":"shardweave.placement","version":1,"name":"hard","unit":"us","vertices":[)" + nodes +
         "],\"matrices\":[" + tables + "],\"edges\":[" + edges + "]}";
}

bool is_one_line(const std::string& text) { return !text.empty() && text.find('\n') == text.size() - 1; }

}  // namespace

TEST_SUITE("solve_placement") {
  TEST_CASE("it prints one JSON object, writes the assignment, and both tell the truth") {
    const temporary_folder folder;
    const auto problem = folder.write("problem.json", contest_example);
    const auto answer = folder / "answer.json";
    for (const char* solver : {"auto", "exhaustive", "elimination"}) {
      CAPTURE(solver);
      const auto run =
          run_program("solve_placement",
                      problem.string() + " --json --threads 1 --solver " + solver + " --solution " + answer.string(),
                      folder.path());
      CHECK(run.status == 0);
      CHECK(run.complaints().empty());
      CHECK(is_one_line(run.out));
      const auto line = boost::json::parse(run.out).as_object();
      CHECK(line.at("problem").as_string() == "example");
      CHECK(line.at("objective").to_number<std::int64_t>() == 445);
      CHECK(line.at("lower_bound").to_number<double>() <= 445);
      for (const char* field : {"status", "seconds", "seconds_to_best", "build_seconds", "peak_rss_bytes"})
        CHECK(line.contains(field));
      const auto stored = sw::read_solution<std::int64_t>(answer);
      const auto d = sw::read_iopddl(problem);
      CHECK(sw::evaluate(d, stored.answer.choice).is_feasible());
      CHECK(sw::evaluate(d, stored.answer.choice).objective == 445);
    }
  }

  TEST_CASE("--answer gives the line that the contest asks for") {
    const temporary_folder folder;
    const std::string problem = folder.write("problem.json", contest_example).string();
    const auto run = run_program("solve_placement", problem + " --answer -", folder.path());
    CHECK(run.status == 0);
    CHECK(run.complaints().empty());
    CHECK(run.out == "[0, 0, 2, 1, 0]\n");

    const auto file = folder / "answer.txt";
    const auto summary = run_program("solve_placement", problem + " --answer " + file.string(), folder.path());
    CHECK(summary.status == 0);
    CHECK(summary.out.find("objective") != std::string::npos);
    CHECK(temporary_folder::read(file) == run.out);

    const auto both = run_program("solve_placement", problem + " --answer - --json", folder.path());
    CHECK(both.status == 2);
    CHECK(both.out.empty());
    CHECK(both.err == "solve_placement: --answer - and --json both claim standard output, expected one of them\n");

    const auto onto_itself = run_program("solve_placement", problem + " --answer " + problem, folder.path());
    CHECK(onto_itself.status == 2);
    CHECK(onto_itself.err ==
          "solve_placement: --answer: " + problem + " is the problem, too, expected a file of its own\n");
    const std::string none = folder.write("none.json", impossible).string();
    const auto infeasible = run_program("solve_placement", none + " --answer -", folder.path());
    CHECK(infeasible.status == 1);
    CHECK(infeasible.out.empty());
    CHECK(is_one_line(infeasible.err));
  }

  TEST_CASE("two runs write the same files, byte by byte") {
    const temporary_folder folder;
    const std::string problem = folder.write("problem.json", contest_example).string();
    for (const char* solver : {"auto", "budgeted", "guided_search", "local_search"}) {
      CAPTURE(solver);
      const auto write = [&](const char* name) {
        const std::string files = " --solution " + (folder / name).string() + " --answer " + (folder / name).string();
        CHECK(run_program("solve_placement", problem + " --solver " + solver + files + ".line", folder.path()).status ==
              0);
        return temporary_folder::read(folder / name) + temporary_folder::read(folder / (std::string(name) + ".line"));
      };
      const std::string one = write("one");
      CHECK(one.find("objective") != std::string::npos);
      CHECK(one == write("two"));
    }
  }

  TEST_CASE("the first signal stops it: the best so far is the answer, with a status of its own") {
    const temporary_folder folder;
    const auto d = sw::read_placement(folder.write("hard.json", hard()));
    for (const int number : {SIGINT, SIGTERM}) {
      CAPTURE(number);
      program_run run;
      for (const double wait : {0.5, 2.0, 8.0, 32.0}) {  // until it has found something
        run = run_and_signal("solve_placement",
                             (folder / "hard.json").string() +
                                 " --json --solver guided_search --seconds 900 --threads 1 --solution " +
                                 (folder / "s.json").string(),
                             folder.path(), wait, {number});
        if (run.status == 3) break;
      }
      REQUIRE(run.status == 3);
      CHECK(run.err.ends_with("solve_placement: stopping; the best so far is the answer (once more: end at once)\n"));
      REQUIRE(is_one_line(run.out));
      const auto line = boost::json::parse(run.out).as_object();
      CHECK(line.at("interrupted").as_bool());
      CHECK(line.at("status").as_string() == "stopped");
      CHECK(line.at("seconds").to_number<double>() < 600);
      const auto stored = sw::read_solution<double>(folder / "s.json");
      const auto priced = sw::evaluate(d, stored.answer.choice);
      CHECK(priced.is_feasible());
      CHECK(priced.objective == doctest::Approx(line.at("objective").to_number<double>()));
      CHECK(stored.answer.lower_bound < priced.objective);
    }
  }

  TEST_CASE("once it is stopped it takes hardly more memory than until then") {
    const auto problem = shared_data("placement/llama3-1b-1d-64-overlap.json.gz");
    if (!problem) return;
    const temporary_folder folder;
    const std::string command = problem->string() + " --json --threads 1 --overlap windows --solution s.json";
    const auto peak = [](const boost::json::object& line) { return line.at("peak_rss_bytes").to_number<double>(); };
    const auto whole = boost::json::parse(run_program("solve_placement", command, folder.path()).out).as_object();
    const double seconds = whole.at("build_seconds").to_number<double>() + whole.at("seconds").to_number<double>();
    int stopped = 0;
    for (const double part : {0.3, 0.4, 0.5, 0.7}) {
      CAPTURE(part);
      const auto run = run_and_signal("solve_placement", command, folder.path(), part * seconds, {SIGINT});
      if (run.status != 3) continue;  // too early, or too late
      ++stopped;
      CHECK(peak(boost::json::parse(run.out).as_object()) < 1.5 * peak(whole));
    }
    CHECK(stopped > 0);
  }

  TEST_CASE("where there is no time to check a certificate the answer is there without one, and it says so") {
    const temporary_folder folder;
    constexpr std::uint64_t strategies = 1200;  // an answer takes a moment, checking a proof of it many
    std::string ones, costs;
    for (std::uint64_t i = 0; i < strategies; ++i) ones += i > 0 ? ",1" : "1";
    for (std::uint64_t i = 0; i < strategies * strategies; ++i)
      costs += (i > 0 ? "," : "") + std::to_string(i * i % 1'000'003) + ".1";
    const auto problem = folder.write(
        "wide.json",
        R"({"format":"shardweave.placement","version":1,"name":"wide","vertices":[{"name":"a","compute":[)" + ones +
            R"(]},{"name":"b","compute":[)" + ones + R"(]}],"matrices":[[)" + costs +
            R"(]],"edges":[{"from":0,"to":1,"communication":0}]})");
    bool is_without = false;
    for (double seconds = 0.03; seconds < 4 && !is_without; seconds *= 1.5) {
      CAPTURE(seconds);
      const auto run =
          run_program("solve_placement",
                      problem.string() + " --json --threads 1 --seconds " + std::to_string(seconds) + " --solution " +
                          (folder / "s.json").string() + " --certificate " + (folder / "c.json").string(),
                      folder.path());
      const auto line = boost::json::parse(run.out).as_object();
      const auto& certificate = line.at("certificate").as_object();
      CHECK(std::filesystem::exists(folder / "c.json") == !certificate.contains("why_not"));
      if (line.at("objective").is_null()) continue;
      CHECK(run.status == 0);
      const auto stored = sw::read_solution<double>(folder / "s.json");
      CHECK(stored.answer.objective == doctest::Approx(line.at("objective").to_number<double>()));
      if (!certificate.contains("why_not")) break;
      is_without = true;
      CHECK(certificate.at("why_not").as_string() == "no proof of a bound on 'wide' was checked in the time");
      CHECK(certificate.at("lower_bound").is_null());
      CHECK(!certificate.at("proves_answer").as_bool());
    }
    CHECK((is_without || std::filesystem::exists(folder / "c.json")));  // a machine may be that fast
  }

  TEST_CASE("the second signal ends it at once") {
    const temporary_folder folder;
    folder.write("hard.json", hard());
    program_run run;
    run.status = 0;
    for (int attempt = 0; attempt < 10 && run.status >= 0; ++attempt)  // unless it was done before the second came
      run = run_and_signal("solve_placement",
                           (folder / "hard.json").string() + " --solver guided_search --seconds 900 --threads 1",
                           folder.path(), 1.0 + attempt, {SIGINT, SIGTERM});
    CHECK((run.status == -SIGTERM || run.status == -SIGINT));  // whichever was seen last
    CHECK(run.out.empty());
  }

#if defined(__GLIBC__)
  TEST_CASE("its memory is of huge pages, unless whoever starts it says otherwise") {
    const temporary_folder folder;
    const std::string pipe = (folder / "pipe").string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    // the shell can open the pipe once the program reads it, which waits for what is written
    const auto tunables = [&](const char* given) {
      const char* const before = std::getenv("GLIBC_TUNABLES");
      const std::string saved = before == nullptr ? "" : before;
      setenv("GLIBC_TUNABLES", given, 1);
      const program_run run = run_program(
          "solve_placement",
          pipe + " & exec 3>" + pipe +
              "; tr '\\0:' '\\n\\n' </proc/$!/environ | sed -n 's/^GLIBC_TUNABLES=//; /^glibc/p'; exec 3>&-; wait $!",
          folder.path());
      if (before == nullptr)
        unsetenv("GLIBC_TUNABLES");
      else
        setenv("GLIBC_TUNABLES", saved.c_str(), 1);
      CHECK(run.status == 2);  // nothing is no problem
      return run.out;
    };
    CHECK(tunables("") == "glibc.malloc.hugetlb=1\n");
    CHECK(tunables("glibc.malloc.arena_max=2") == "glibc.malloc.hugetlb=1\nglibc.malloc.arena_max=2\n");
    CHECK(tunables("glibc.malloc.hugetlb=0") == "glibc.malloc.hugetlb=0\n");
  }
#endif

  TEST_CASE("who found the assignment and who proved the bound are told, and no bound is called none") {
    const temporary_folder folder;
    const std::string problem = folder.write("problem.json", contest_example).string();
    const auto local = run_program("solve_placement", problem + " --solver local_search", folder.path());
    CHECK(local.out.find("lower bound    none was proven\n") != std::string::npos);
    CHECK(local.out.find("inf") == std::string::npos);
    const auto line = boost::json::parse(run_program("solve_placement", problem + " --json", folder.path()).out);
    CHECK(!line.at("found_by").as_string().empty());
    CHECK(!line.at("bound_by").as_string().empty());
    CHECK_FALSE(line.at("interrupted").as_bool());
  }

  TEST_CASE("an answer that cannot be written leaves standard output empty") {
    const temporary_folder folder;
    const std::string problem = folder.write("problem.json", contest_example).string();
    for (const char* option : {" --answer ", " --solution "}) {
      const auto run =
          run_program("solve_placement", problem + " --json" + option + (folder / "no/such").string(), folder.path());
      CHECK(run.status == 2);
      CHECK(run.out.empty());
      CHECK(is_one_line(run.err));
      CHECK(run.err.find("no/such: cannot be opened for writing") != std::string::npos);
    }
  }

  TEST_CASE("savings are counted in the windows that flags allow") {
    sw::placement_description<double> d;  // a gather 0 -> 4 beside 1 -> 2 -> 3 -> 4, and 1 -> 4
    for (const double c : {0.0, 3.0, 4.0, 5.0, 6.0}) d.vertices.push_back({.compute = {c}});
    for (const double c : {4.0, 100.0})
      d.tables.push_back(std::make_shared<const sw::cost_table<double>>(
          sw::cost_table<double>::from_entries(1, 1, std::vector<double>{c})));
    d.edges = {{.from = 0, .to = 4, .communication = 0},
               {.from = 1, .to = 2},
               {.from = 2, .to = 3},
               {.from = 3, .to = 4},
               {.from = 1, .to = 4, .communication = 1}};
    d.overlap = {{.edge = 0, .direction = sw::hiding::earlier}};
    const temporary_folder folder;
    const std::string file =
        folder.write("p.json", sw::json_string([&](sw::json_writer& out) { sw::write_placement(out, d); })).string();
    const std::map<std::string, double> objectives{
        {"", 122},
        {" --overlap windows", 118},
        {" --overlap windows --overlap-prefetch 0", 122},
        {" --overlap windows --overlap-prefetch 1", 118},
        {" --overlap windows --overlap-every-edge", 110},
        {" --overlap windows --overlap-every-edge --overlap-prefetch 1", 117}};
    for (const auto& [flags, objective] : objectives) {
      CAPTURE(flags);
      const std::filesystem::path answer = folder / "answer.json";
      const auto run =
          run_program("solve_placement", file + " --json --solution " + answer.string() + flags, folder.path());
      REQUIRE(run.status == 0);
      CHECK(boost::json::parse(run.out).as_object().at("objective").to_number<double>() == objective);
    }
    const auto refused = run_program("solve_placement", file + " --overlap-every-edge", folder.path());
    CHECK(refused.status == 2);
    CHECK(refused.err.find("--overlap-every-edge needs --overlap windows, found --overlap off") != std::string::npos);
  }

  TEST_CASE("without --json people read a summary") {
    const temporary_folder folder;
    const auto run = run_program("solve_placement", folder.write("p.json", contest_example).string(), folder.path());
    CHECK(run.status == 0);
    for (const char* word : {"objective", "445", "lower bound", "memory", "status", "optimal"})
      CHECK(run.out.find(word) != std::string::npos);
  }

  TEST_CASE("a problem without a feasible assignment ends with status 1 and one line that says why") {
    const temporary_folder folder;
    const std::string file = folder.write("none.json", impossible).string();
    const auto run = run_program("solve_placement", file + " --json", folder.path());
    CHECK(run.status == 1);
    CHECK(is_one_line(run.err));
    CHECK(run.err.starts_with("solve_placement: " + file + ": "));
    const auto line = boost::json::parse(run.out).as_object();
    CHECK(line.at("status").as_string() == "infeasible");
    CHECK(line.at("objective").is_null());
  }

  TEST_CASE("wrong input and wrong usage end with status 2 and one line") {
    const temporary_folder folder;
    const std::string good = folder.write("good.json", contest_example).string();
    const std::string cut = folder.write("cut.json", contest_example.substr(0, 200)).string();
    for (const std::string& arguments :
         {std::string(), cut, (folder / "missing.json").string(), good + " --solver magic", good + " --overlap most",
          good + " --seconds -1", good + " --threads x", good + " --solution " + (folder / "no/such.json").string()}) {
      CAPTURE(arguments);
      const auto run = run_program("solve_placement", arguments, folder.path());
      CHECK(run.status == 2);
      CHECK(is_one_line(run.err));
      CHECK(run.err.starts_with("solve_placement: "));
    }
    CHECK(run_program("solve_placement", cut, folder.path()).err ==
          "solve_placement: " + cut + ": line 4, byte 201: the text ends too early, in problem.nodes\n");
  }

  TEST_CASE("values out of range are told in words, unknown options before anything else") {
    const temporary_folder folder;
    const std::string good = folder.write("good.json", contest_example).string();
    const std::pair<std::string, std::string> cases[] = {
        {good + " --seconds -1", "--seconds: found '-1', expected a number from 0 on (see --help)"},
        {good + " --seconds soon", "--seconds: found 'soon', expected a number from 0 on (see --help)"},
        {good + " --threads 0", "--threads: found '0', expected a whole number from 1 to 4294967295 (see --help)"},
        {good + " --seed -3", "--seed: found '-3', expected a whole number from 0 on (see --help)"},
        {"--colour red", "there is no option --colour (see --help)"},
        {"--colour=red", "there is no option --colour (see --help)"},
        {good + " --seconds -1 --colour", "there is no option --colour (see --help)"},
        {good + " more", "'more' was not expected (see --help)"},
        {"", "problem is required (see --help)"}};
    for (const auto& [arguments, words] : cases) {
      CAPTURE(arguments);
      const auto run = run_program("solve_placement", arguments, folder.path());
      CHECK(run.status == 2);
      CHECK(run.err == "solve_placement: " + words + "\n");
    }
    CHECK(run_program("solve_placement", good + " --seconds inf", folder.path()).status == 0);
  }

  TEST_CASE("--help says what each solver is for, how it ends, and ends well") {
    const temporary_folder folder;
    const auto run = run_program("solve_placement", "--help", folder.path());
    CHECK(run.status == 0);
    for (const char* word :
         {"\n  trws ", "\n  auto ", "\n  exhaustive ", "\n  inclusive-twice ", "Ctrl-C", "Exit status"})
      CHECK_MESSAGE(run.out.find(word) != std::string::npos, word);
    CHECK(run.out.find("e+308") == std::string::npos);
  }
}

}  // namespace solve_placement_tests
