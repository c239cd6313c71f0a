# cmake -D work_dir=DIR -P include_graph_refuses.cmake
# The check of the include graph finds what it should: one small tree per rule, the words of the refusal matched.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# expect(REGEX header content [header content ...])
function(expect regex)
  file(REMOVE_RECURSE ${work_dir})
  set(rest ${ARGN})
  while(rest)
    list(POP_FRONT rest header content)
    file(WRITE ${work_dir}/shardweave/${header} "${content}")
  endwhile()
  expect_of(include_graph.cmake include_dir=${work_dir} "${regex}")
endfunction()

set(once "#pragma once\n")
expect(accepted core/a.hpp "${once}#include <vector>\n" graph/b.hpp "${once}#include <shardweave/core/a.hpp>\n")
expect(accepted graph/detail/a.hpp "${once}" graph/b.hpp "${once}#include <shardweave/graph/detail/a.hpp>\n")
expect("room core reaches back to graph" graph/a.hpp "${once}" core/b.hpp "${once}#include <shardweave/graph/a.hpp>\n")
expect("room simulate reaches back to schedule" schedule/a.hpp "${once}"
       simulate/b.hpp "${once}  #  include <shardweave/schedule/a.hpp>\n")
expect("room solve reaches back to planner.hpp" planner.hpp "${once}"
       solve/b.hpp "${once}#include <shardweave/planner.hpp>\n")
expect(accepted solve/a.hpp "${once}" solve/bound/b.hpp "${once}#include <shardweave/solve/a.hpp>\n"
       solve/c.hpp "${once}#include <shardweave/solve/bound/b.hpp>\n")
expect("room bound in solve reaches back to search by solve/search/a.hpp" solve/search/a.hpp "${once}"
       solve/b.hpp "${once}#include <shardweave/solve/search/a.hpp>\n"
       solve/bound/detail/c.hpp "${once}#include <shardweave/solve/b.hpp>\n")
expect("there is no room extra in schedule" schedule/extra/a.hpp "${once}")
expect("made of what is private to solve/linear" solve/linear/detail/a.hpp "${once}"
       solve/linear/b.hpp "${once}#include <shardweave/solve/linear/detail/a.hpp>\n"
       solve/linear/detail/c.hpp "${once}#include <shardweave/solve/linear/b.hpp>\n")
expect("spmd/detail/a.hpp: includes what includes it" spmd/b.hpp "${once}#include <shardweave/spmd/impl/b.hpp>\n"
       spmd/impl/b.hpp "${once}#include <shardweave/spmd/b.hpp>\n#include <shardweave/spmd/detail/a.hpp>\n"
       spmd/detail/a.hpp "${once}#include <shardweave/spmd/b.hpp>\n")
expect("private to graph" graph/detail/a.hpp "${once}" solve/b.hpp "${once}#include <shardweave/graph/detail/a.hpp>\n")
expect("does not exist" core/a.hpp "${once}#include <shardweave/core/gone.hpp>\n")
expect("there is no room extra" extra/a.hpp "${once}")
expect("not #pragma once" core/a.hpp "#include <vector>\n")
expect("includes with quotes" core/a.hpp "${once}" core/b.hpp "${once}#include \"a.hpp\"\n")
expect("which no public header may" core/a.hpp "${once}#include <iostream>\n")
expect("belongs to component io" report/a.hpp "${once}#include <boost/json.hpp>\n")
expect("belongs to component glpk" solve/a.hpp "${once}#include <glpk.h>\n")
expect("belongs to component clp" solve/backend/cbc.hpp "${once}#include <ClpSimplex.hpp>\n")
expect("belongs to component cbc" solve/backend/clp.hpp "${once}#include <OsiClpSolverInterface.hpp>\n")
expect("belongs to component highs" solve/a.hpp "${once}#include <interfaces/highs_c_api.h>\n")
expect("belongs to component cublas" engine/nccl_a.hpp "${once}#include <cublas_v2.h>\n")
expect("shardweave.hpp: reaches solve/backend/glpk.hpp" solve/backend/glpk.hpp "${once}#include <glpk.h>\n"
       solve/a.hpp "${once}#include <shardweave/solve/backend/glpk.hpp>\n"
       shardweave.hpp "${once}#include <shardweave/solve/a.hpp>\n")
file(REMOVE_RECURSE ${work_dir})
file(WRITE ${work_dir}/include/shardweave/simulate/b.hpp "${once}")
file(WRITE ${work_dir}/include/shardweave/step/a.hpp "${once}#include <shardweave/simulate/b.hpp>\n")
file(WRITE ${work_dir}/examples/check_certificate.cpp "#include <shardweave/step/a.hpp>\n")
expect_of(include_graph.cmake include_dir=${work_dir}/include
          "check_certificate.cpp: reaches simulate/b.hpp, which makes what it checks")
file(REMOVE_RECURSE ${work_dir})
