#include "benchmarks/linear_files/lp_file.hpp"
#include "benchmarks/linear_files/mps_file.hpp"
#include <shardweave/core/random.hpp>
#include <shardweave/placement/compact_problem.hpp>
#include <shardweave/placement/problem.hpp>
#include <shardweave/solve/linear/model/local_polytope.hpp>
#ifdef SHARDWEAVE_HAS_GLPK
#include <shardweave/solve/backend/glpk.hpp>
#endif
#ifdef SHARDWEAVE_HAS_CBC
#include <shardweave/solve/backend/cbc.hpp>
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
#include <shardweave/solve/backend/highs.hpp>
#endif

#include <doctest/doctest.h>
#include <support/refusal.hpp>
#include <support/temporary_folder.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace sw = shardweave;

namespace linear_files_tests {
namespace {

constexpr double endless = std::numeric_limits<double>::infinity();

std::string lp_of(const sw::linear_model& model, const sw::linear_names& names = {}) {
  std::string text;
  linear_files::write_lp([&](std::string_view piece) { text += piece; }, model, names);
  return text;
}
std::string mps_of(const sw::linear_model& model, const sw::linear_names& names = {}) {
  std::string text;
  linear_files::write_mps([&](std::string_view piece) { text += piece; }, model, names);
  return text;
}

/// One of everything.
sw::linear_model small_program() {
  sw::linear_model m{2.5};
  m.add_column({0, endless, 3});
  m.add_column({-1.5, 4, -0.1, true});
  m.add_column({-endless, endless, 0});
  m.add_column({0, endless, 0, true});
  m.add_row({-endless, 7});
  m.add_row({1, 1});
  m.add_row({-2, 5.25});
  m.add_entry(0, 0, 1);
  m.add_entry(0, 1, 2);
  m.add_entry(1, 2, -1);
  m.add_entry(1, 1, 1);
  m.add_entry(2, 0, 0.1);
  return m;
}

/// Limits of every kind, numbers that no short text holds; bounded, with a point that keeps all rows.
sw::linear_model random_program(std::uint64_t seed) {
  sw::random_source random(seed);
  sw::linear_model m{random.chance(0.5) ? 0 : 100 * (random.unit() - 0.5)};
  const auto odd = [&] { return std::ldexp(random.unit() - 0.5, static_cast<int>(random.below(12))); };
  std::vector<double> point;
  const std::size_t columns = 1 + random.below(9), rows = random.below(7);
  for (std::size_t j = 0; j < columns; ++j) {
    sw::linear_column c{0, endless, random.chance(0.2) ? 0 : odd(), random.chance(0.4)};
    const double x = c.integer ? std::floor(odd()) : odd();
    c.low = x - std::abs(odd());
    c.high = x + std::abs(odd());
    if (random.chance(0.2)) c.low = c.high = x;
    // absent limits only where the costs do not pull
    if (c.objective >= 0 && random.chance(0.3)) c.high = endless;
    if (c.objective <= 0 && random.chance(0.3)) c.low = -endless;
    if (c.objective >= 0 && x >= 0 && random.chance(0.3)) c.low = 0;
    m.add_column(c);
    point.push_back(x);
  }
  for (std::size_t r = 0; r < rows; ++r) {
    const std::uint32_t row = m.add_row({});
    double sum = 0;
    for (std::uint32_t j = 0; j < columns; ++j)
      if (random.chance(0.5)) {
        const double weight = odd();
        m.add_entry(row, j, weight);
        sum += weight * point[j];
      }
    if (random.chance(0.6)) m.rows[row].high = sum + std::abs(odd());
    if (random.chance(0.6)) m.rows[row].low = sum - std::abs(odd());
  }
  return m;
}

/// A problem with a budget over a ring of three vertices.
sw::placement_problem<double> ring() {
  sw::compact_builder<double> builder;
  for (int x = 0; x < 3; ++x) builder.add_variable(std::vector<double>{1.5 * x, 2, 0.7});
  const auto differ = std::make_shared<const sw::cost_table<double>>(
      sw::cost_table<double>::from_entries(3, 3, std::vector<double>{4, 0, 1, 0, 4, endless, 1, 0.3, 4}));
  builder.add_edge(0, 1, differ);
  builder.add_edge(1, 2, differ);
  builder.add_edge(0, 2, differ);
  builder.add_row({-endless, 5, 0, 0});
  for (std::uint32_t x = 0; x < 3; ++x) builder.add_segment(x, {0, 1, {3, 2, 1}});
  return sw::placement_problem<double>(builder.build());
}

#ifdef SHARDWEAVE_HAS_GLPK
/// Whether GLPK reads a file as just this model, bit for bit, and what its optimum then is.
struct read_by_glpk {
  bool same = true;
  double optimum = endless;

  read_by_glpk(const std::filesystem::path& file, const sw::linear_model& model, const sw::linear_names& names) {
    sw::detail::in_glpk_environment([&](sw::detail::glpk_terminal&) {
      const std::unique_ptr<glp_prob, void (*)(glp_prob*)> p(glp_create_prob(), glp_delete_prob);
      const bool mps = file.extension() == ".mps";
      if ((mps ? glp_read_mps(p.get(), GLP_MPS_FILE, nullptr, file.c_str())
               : glp_read_lp(p.get(), nullptr, file.c_str())) != 0) {
        same = false;
        return;
      }
      glp_create_index(p.get());
      compare(p.get(), model, names);
      glp_iocp options;
      glp_init_iocp(&options);
      options.presolve = GLP_ON;
      options.tol_int = 1e-9;
      if (glp_intopt(p.get(), &options) == 0 && glp_mip_status(p.get()) == GLP_OPT) optimum = glp_mip_obj_val(p.get());
    });
  }

 private:
  void expect(double found, double wanted) { same = same && found == wanted; }
  static double limit(double value) {
    return std::abs(value) == std::numeric_limits<double>::max() ? std::copysign(endless, value) : value;
  }

  void compare(glp_prob* p, const sw::linear_model& model, const sw::linear_names& names) {
    double offset = glp_get_obj_coef(p, 0);
    if (const int one = glp_find_col(p, "constant_one"); one != 0) offset += glp_get_obj_coef(p, one);
    expect(offset, model.offset);
    for (std::size_t j = 0; j < model.columns.size(); ++j) {
      const int at = glp_find_col(p, names.columns[j].c_str());
      same = same && at != 0;
      if (at == 0) return;
      const sw::linear_column& c = model.columns[j];
      expect(limit(glp_get_col_lb(p, at)), c.integer ? std::ceil(c.low) : c.low);
      expect(limit(glp_get_col_ub(p, at)), c.integer ? std::floor(c.high) : c.high);
      expect(glp_get_obj_coef(p, at), c.objective);
      same = same && (glp_get_col_kind(p, at) != GLP_CV) == c.integer;
    }
    std::map<std::pair<std::uint32_t, std::uint32_t>, double> weights;
    for (const sw::linear_entry& e : model.entries) weights[{e.row, e.column}] = e.value;
    for (std::uint32_t r = 0; r < model.rows.size(); ++r) {
      const int at = glp_find_row(p, names.rows[r].c_str());
      same = same && at != 0;
      if (at == 0) return;
      double low = limit(glp_get_row_lb(p, at)), high = limit(glp_get_row_ub(p, at));
      if (const int range = glp_find_col(p, ("range." + names.rows[r]).c_str()); range != 0) {
        same = same && low == 0 && high == 0;
        low = limit(glp_get_col_lb(p, range));
        high = limit(glp_get_col_ub(p, range));
      }
      expect(low, model.rows[r].low);
      expect(high, model.rows[r].high);
      std::vector<int> index(static_cast<std::size_t>(glp_get_num_cols(p)) + 1);
      std::vector<double> value(index.size());
      const int count = glp_get_mat_row(p, at, index.data(), value.data());
      std::map<int, double> found;
      for (std::size_t i = 1; i <= static_cast<std::size_t>(count); ++i) found[index[i]] = value[i];
      for (std::uint32_t j = 0; j < model.columns.size(); ++j) {
        const auto wanted = weights.find({r, j});
        const auto there = found.find(glp_find_col(p, names.columns[j].c_str()));
        expect(there == found.end() ? 0 : there->second, wanted == weights.end() ? 0 : wanted->second);
      }
    }
  }
};
#endif

#ifdef SHARDWEAVE_HAS_CBC
double optimum_by_cbc(const std::filesystem::path& file) {
  OsiClpSolverInterface read;
  read.messageHandler()->setLogLevel(0);
  const int errors = file.extension() == ".mps" ? read.readMps(file.c_str(), "") : read.readLp(file.c_str());
  if (errors != 0) return std::nan("");
  CbcModel model(read);
  model.setLogLevel(0);
  model.setIntegerTolerance(1e-9);
  model.branchAndBound();
  return model.getObjValue();
}
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
double optimum_by_highs(const std::filesystem::path& file) {
  const std::unique_ptr<void, void (*)(void*)> h(Highs_create(), Highs_destroy);
  Highs_setBoolOptionValue(h.get(), "output_flag", 0);
  Highs_setIntOptionValue(h.get(), "threads", 1);
  if (Highs_readModel(h.get(), file.c_str()) == kHighsStatusError) return std::nan("");
  Highs_run(h.get());
  return Highs_getObjectiveValue(h.get());
}
#endif

sw::linear_names numbered(const sw::linear_model& model) {
  sw::linear_names names;
  for (std::size_t j = 0; j < model.columns.size(); ++j) names.columns.push_back("x" + std::to_string(j));
  for (std::size_t r = 0; r < model.rows.size(); ++r) names.rows.push_back("r" + std::to_string(r));
  return names;
}

}  // namespace

TEST_SUITE("write_lp and write_mps") {
  TEST_CASE("a program reads as people write it") {
    CHECK(lp_of(small_program()) == R"(\ 4 columns, 3 rows
Minimize
 cost: + 3 x0 - 0.1 x1 + 0 x3 + 2.5 constant_one
Subject To
 r0: + 1 x0 + 2 x1 <= 7
 r1: - 1 x2 + 1 x1 = 1
 r2: + 0.1 x0 - 1 range.r2 = 0
Bounds
 -1 <= x1 <= 4
 x2 free
 -2 <= range.r2 <= 5.25
 constant_one = 1
General
 x1
 x3
End
)");
  }
  TEST_CASE("and as solvers wrote it half a century ago") {
    CHECK(mps_of(small_program()) == R"(NAME local_polytope
ROWS
 N cost
 L r0
 E r1
 G r2
COLUMNS
 x0 cost 3
 x0 r0 1
 x0 r2 0.1
 mark 'MARKER' 'INTORG'
 x1 cost -0.1
 x1 r0 2
 x1 r1 1
 mark 'MARKER' 'INTEND'
 x2 r1 -1
 mark 'MARKER' 'INTORG'
 x3 cost 0
 mark 'MARKER' 'INTEND'
 constant_one cost 2.5
RHS
 side r0 7
 side r1 1
 side r2 -2
RANGES
 width r2 7.25
BOUNDS
 FX limits constant_one 1
 LO limits x1 -1
 UP limits x1 4
 FR limits x2
 PL limits x3
ENDATA
)");
  }
  TEST_CASE("the names of a problem's polytope lead back to vertices and strategies") {
    const auto problem = ring();
    const sw::local_polytope<double> polytope(problem.compact(), sw::presence(problem.compact()), true);
    const sw::linear_names names = polytope.names(problem);
    const std::string text = lp_of(polytope.model(), names);
    CHECK(names.columns.front() == "v0.s0");
    CHECK(std::count(names.columns.begin(), names.columns.end(), "") == 0);
    CHECK(std::count(names.rows.begin(), names.rows.end(), "") == 0);
    CHECK(text.find("\n v2: + 1 v2.s0 + 1 v2.s1 + 1 v2.s2 = 1\n") != std::string::npos);
    // label 1 of vertex 0 has no pair with label 2 of vertex 1, and two others
    CHECK(text.find("\n pair0.v0.r1: + 1 v0.s1 - 1 pair0.r1.c0 - 1 pair0.r1.c1 = 0\n") != std::string::npos);
    CHECK(text.find("\n budget0: ") != std::string::npos);
    CHECK(text.find(" pair0.r1.c2") == std::string::npos);
  }
  TEST_CASE("lines stay short enough for every reader") {
    sw::linear_model wide;
    const std::uint32_t row = wide.add_row({1, endless});
    for (std::uint32_t j = 0; j < 3000; ++j) wide.add_entry(row, wide.add_column({0, 1, 1.0 / (3 + j)}), 1.0 / (7 + j));
    const std::string text = lp_of(wide);
    std::size_t longest = 0;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      longest = std::max(longest, end - at);
      at = end + 1;
    }
    CHECK(longest < 400);
  }
  TEST_CASE("names that a reader would stumble over are refused") {
    const auto refused = [](std::vector<std::string> columns, std::vector<std::string> rows) {
      const std::string words = shardweave_test::refusal_of([&] { return lp_of(small_program(), {columns, rows}); });
      return words.empty() ? shardweave_test::refusal_of([&] {
        return mps_of(small_program(), {columns, rows});
      })
                           : words;
    };
    CHECK(refused({"a", "b", "c"}, {}) == "linear model: it has 4 columns and 3 names for them");
    CHECK(refused({}, {"a"}) == "linear model: it has 3 rows and 1 names for them");
    CHECK(refused({"a", "b", "a", "d"}, {}) == "linear model: column 2 is called \"a\", and so is another one");
    CHECK(refused({"a", "e5", "c", "d"}, {}) ==
          "linear model: column 1 is called \"e5\", which readers may take for a number");
    CHECK(refused({"a", "b", "Free", "d"}, {}) ==
          "linear model: column 2 is called \"Free\", a word that the formats or their writers use");
    CHECK(refused({}, {"a", "range.a", "c"}) ==
          "linear model: row 1 is called \"range.a\", a word that the formats or their writers use");
    for (const char* name : {"", "a b", "7x", "a+b", ".a"})
      CHECK(refused({"a", "b", "c", name}, {}) ==
            "linear model: column 3 is called \"" + std::string(name) +
                "\", expected up to 255 letters, digits, '_' and '.', and a letter first");
    CHECK(refused({"a", "b", "c", "a\n"}, {}).starts_with("linear model: column 3 is called \"a?\", expected"));
    CHECK(refused({"a", "b", "c", std::string(256, 'd')}, {}).find("expected up to 255") != std::string::npos);
  }
  TEST_CASE("a model that none is refused") {
    sw::linear_model model = small_program();
    model.rows[1] = {2, 1};
    for (const auto& write : {lp_of, mps_of})
      CHECK_THROWS_WITH_AS(static_cast<void>(write(model, {})),
                           "linear model: row 1 has limits 2 and 1, expected the lower one first", sw::error);
  }
  TEST_CASE("a file is there whole or not at all, and compressed by its name") {
    const temporary_folder folder;
    linear_files::write_lp(folder / "a.lp", small_program());
    CHECK(temporary_folder::read(folder / "a.lp") == lp_of(small_program()));
    linear_files::write_mps(folder / "a.mps.gz", small_program());
    CHECK(temporary_folder::read(folder / "a.mps.gz").substr(0, 2) == "\x1f\x8b");
    sw::linear_model bad = small_program();
    bad.offset = std::nan("");
    CHECK_THROWS_AS(linear_files::write_lp(folder / "b.lp", bad), sw::error);
    CHECK(folder.file_count() == 2);
  }
#ifdef SHARDWEAVE_HAS_GLPK
  TEST_CASE("GLPK reads every number back bit for bit, and finds the same optimum") {
    const temporary_folder folder;
    std::size_t solved = 0;
    for (std::uint64_t seed = 0; seed <= 150; ++seed) {
      const sw::linear_model model = seed == 0 ? small_program() : random_program(seed);
      const sw::linear_names names = numbered(model);
      const double optimum = sw::glpk{}.solve(model).objective;
      CAPTURE(seed);
      for (const char* file : {"a.lp", "a.mps"}) {
        CAPTURE(std::string(file));
        file[2] == 'l' ? linear_files::write_lp(folder / file, model)
                       : linear_files::write_mps(folder / file, model, names);
        const read_by_glpk read(folder / file, model, names);
        CHECK_MESSAGE(read.same, temporary_folder::read(folder / file));
        if (!std::isfinite(optimum)) continue;
        CHECK(read.optimum == doctest::Approx(optimum).epsilon(1e-6));
        ++solved;
      }
    }
    CHECK(solved > 200);
    for (const sw::linear_model& model :
         {sw::linear_model{3}, sw::linear_model{0, {{0, 1, -2}}, {}, {}}, sw::linear_model{1, {}, {{0, 2}}, {}},
          sw::linear_model{1, {{0, 4, 1}}, {{-1, endless}, {-endless, endless}, {0, 0}}, {}}})
      for (const char* file : {"a.lp", "a.mps"}) {
        file[2] == 'l' ? linear_files::write_lp(folder / file, model) : linear_files::write_mps(folder / file, model);
        CAPTURE(temporary_folder::read(folder / file));
        CHECK(read_by_glpk(folder / file, model, numbered(model)).same);
      }
  }
  TEST_CASE("the polytope of a problem has its optimum in either file, whoever reads it") {
    const temporary_folder folder;
    const auto problem = ring();
    constexpr bool whole_numbers = true;
    const sw::local_polytope<double> polytope(problem.compact(), sw::presence(problem.compact()), whole_numbers);
    linear_files::write_lp(folder / "a.lp", polytope.model(), polytope.names(problem));
    linear_files::write_mps(folder / "a.mps", polytope.model(), polytope.names(problem));
    const double optimum = sw::glpk{}.solve(polytope.model()).objective;
    for (const char* file : {"a.lp", "a.mps"}) {
      CAPTURE(std::string(file));
      const read_by_glpk read(folder / file, polytope.model(), polytope.names(problem));
      CHECK(read.same);
      CHECK(read.optimum == doctest::Approx(optimum).epsilon(1e-9));
#ifdef SHARDWEAVE_HAS_CBC
      CHECK(optimum_by_cbc(folder / file) == doctest::Approx(optimum).epsilon(1e-9));
#endif
#ifdef SHARDWEAVE_HAS_HIGHS
      CHECK(optimum_by_highs(folder / file) == doctest::Approx(optimum).epsilon(1e-9));
#endif
    }
  }
#endif
}

}  // namespace linear_files_tests
