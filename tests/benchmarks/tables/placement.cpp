// Captured placement problems: the default solver against GLPK's relaxation and branch and bound on the whole local
// polytope, in the same run. `table_placement --mps FOLDER` also writes that polytope as MPS files, for other solvers.
#include "benchmarks/tables/table.hpp"
#include "examples/support/solvers.hpp"
#include <shardweave/io/placement_file.hpp>
#include <shardweave/placement/compile.hpp>
#include <shardweave/solve/local_polytope.hpp>

#include <cmath>
#include <variant>

namespace sw = shardweave;

namespace {

constexpr double reference_unknown = 0;

/// Fixed MPS would round the numbers; this is the free form.
void write_mps(const std::filesystem::path& path, sw::linear_model model) {
  std::FILE* out = std::fopen(path.c_str(), "w");
  if (out == nullptr) return;
  std::sort(model.entries.begin(), model.entries.end(),
            [](const auto& a, const auto& b) { return std::pair(a.column, a.row) < std::pair(b.column, b.row); });
  std::fprintf(out, "NAME local_polytope\nROWS\n N cost\n");
  const auto kind = [](const sw::linear_row& r) {
    if (r.low == r.high) return 'E';
    return std::isfinite(r.low) ? 'G' : 'L';
  };
  for (std::size_t r = 0; r < model.rows.size(); ++r) std::fprintf(out, " %c r%zu\n", kind(model.rows[r]), r);
  std::fprintf(out, "COLUMNS\n");
  bool whole = false;
  const auto mark = [&](bool integer) {
    if (integer != whole) std::fprintf(out, " m 'MARKER' '%s'\n", integer ? "INTORG" : "INTEND");
    whole = integer;
  };
  for (std::size_t j = 0, at = 0; j < model.columns.size(); ++j) {
    mark(model.columns[j].integer);
    std::fprintf(out, " x%zu cost %.17g\n", j, model.columns[j].objective);
    for (; at < model.entries.size() && model.entries[at].column == j; ++at)
      std::fprintf(out, " x%zu r%u %.17g\n", j, model.entries[at].row, model.entries[at].value);
  }
  mark(false);
  std::fprintf(out, "RHS\n b cost %.17g\n", -model.offset);
  for (std::size_t r = 0; r < model.rows.size(); ++r) {
    const double side = kind(model.rows[r]) == 'L' ? model.rows[r].high : model.rows[r].low;
    std::fprintf(out, " b r%zu %.17g\n", r, side);
  }
  std::fprintf(out, "RANGES\n");
  for (std::size_t r = 0; r < model.rows.size(); ++r) {
    const sw::linear_row& row = model.rows[r];
    if (kind(row) == 'G' && std::isfinite(row.high)) std::fprintf(out, " g r%zu %.17g\n", r, row.high - row.low);
  }
  std::fprintf(out, "BOUNDS\n");
  for (std::size_t j = 0; j < model.columns.size(); ++j) {
    std::fprintf(out, " LO d x%zu %.17g\n", j, model.columns[j].low);
    if (std::isfinite(model.columns[j].high)) std::fprintf(out, " UP d x%zu %.17g\n", j, model.columns[j].high);
  }
  std::fprintf(out, "ENDATA\n");
  std::fclose(out);
}

}  // namespace

int main(int argc, char** argv) {
  std::filesystem::path mps;
  std::vector<char*> others;
  for (int i = 0; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--mps" && i + 1 < argc) {
      mps = argv[++i];
    } else {
      others.push_back(argv[i]);
    }
  }
  const tables::request asked(static_cast<int>(others.size()), others.data());
  const auto known = programs::solvers<double>();
  std::vector<programs::named_solver<double>> peers = {known.front()};
#ifdef SHARDWEAVE_HAS_GLPK
  const auto add = [&](const char* name, auto solver) {
    peers.push_back(
        {name, "", [solver](const auto& problem, const auto& control) { return solver.solve(problem, control); }});
  };
  add("GLPK LP, whole polytope", sw::lp_relaxation(sw::glpk{}, 0));
  add("GLPK MIP, whole polytope", sw::ilp(sw::glpk{}, 0, 0));
#endif
  tables::table out(asked, {"problem", "solver", "status", "value us", "bound us", "gap %", "value / reference",
                            "seconds", "times auto", "peak MiB"});
  for (const auto& file : asked.files("placement")) {
    const std::string name = tables::short_name(file);
    if (name.find("overlap") != std::string::npos) continue;  // their references count savings
    double fastest = 0;
    for (const auto& peer : peers) {
      double seconds[2] = {};  // handed back by the process that made the row
      int channel[2] = {};
      if (pipe(channel) != 0) return 1;
      out.row(name, [&] {
        auto d = std::get<sw::placement_description<double>>(sw::read_any_placement(file));
        const double reference = d.reference ? d.reference->objective : reference_unknown;
        const auto problem = sw::compile(std::make_shared<const sw::placement_description<double>>(std::move(d)), {});
        if (!mps.empty() && &peer == &peers.front())
          write_mps(mps / (name + ".mps"),
                    sw::local_polytope<double>(problem.compact(), sw::presence(problem.compact()), true).model());
        sw::solution<double> answer;
        const bool own = &peer == &peers.front();
        double taken = 0;
        std::vector<double> runs;
        for (int run = 0; run < (own ? 3 : 1); ++run) {
          const double start = tables::wall_seconds();
          answer = peer.solve(problem, {.seconds = asked.limit(30), .seed = 1, .threads = 1});
          runs.push_back(tables::wall_seconds() - start);
        }
        std::sort(runs.begin(), runs.end());
        taken = runs[runs.size() / 2];
        if (write(channel[1], &taken, sizeof taken) < 0) return std::vector<std::string>{"pipe"};
        const bool found = answer.has_assignment();
        return std::vector<std::string>{peer.name,
                                        std::string(sw::name_of(answer.status)),
                                        found ? tables::number(answer.objective) : "none",
                                        tables::number(answer.lower_bound),
                                        found ? tables::number(100 * answer.gap(), 4) : "",
                                        found && reference > 0 ? tables::number(answer.objective / reference, 6) : "",
                                        tables::number(taken, 3),
                                        own ? "1" : tables::number(taken / fastest, 1),
                                        "peak"};
      });
      close(channel[1]);
      if (read(channel[0], seconds, sizeof seconds[0]) == static_cast<ssize_t>(sizeof seconds[0]) && fastest == 0)
        fastest = seconds[0];
      close(channel[0]);
    }
  }
}
