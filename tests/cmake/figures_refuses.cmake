# cmake -D work_dir=DIR -P figures_refuses.cmake
# The check of figures finds a table or picture without its command, and takes one whose command stands before or after it.
cmake_minimum_required(VERSION 3.25)
include(${CMAKE_CURRENT_LIST_DIR}/run.cmake)

# expect(REGEX text): of a page with that text
function(expect regex text)
  file(REMOVE_RECURSE ${work_dir})
  file(WRITE ${work_dir}/examples/plan_it.cpp "int main() {}\n")
  file(WRITE ${work_dir}/docs/measured.md "# measured\n\n${text}\n")
  file(WRITE ${work_dir}/README.md "# a project\n\n`tests/run.sh`:\n\n| what | takes |\n|---|---|\n| a | 1 s |\n| b | 2 s |\n| c | 3 s |\n")
  expect_of(figures.cmake source_dir=${work_dir} "${regex}")
endfunction()

set(table "| mesh | step |\n|---|---|\n| 8 | 1.5 |\n| 64 | 2.5 |\n| 512 | 3.5 |\n")
set(missing "docs/measured.md: what prints the table . mesh")
expect(accepted "`plan_it MESH` prints\n\n${table}")
expect(accepted "${table}\nprinted by `tests/benchmarks/run.sh steps`.")
expect(accepted "```sh\nplan_it 8\n```\n\n${table}")
expect(accepted "`tests/step_test.cpp` holds\n\n${table}")
expect(accepted "| setting | default |\n|---|---|\n| cap | 2 GiB |\n| span | 1500 |\n| share | 1 |\n")
expect("${missing}" "Measured:\n\n${table}")
expect("${missing}" "`plan_it` is a program.\n\n${table}")
expect("${missing}" "`plan_it MESH` prints\n\n## Steps\n\n${table}")
expect("${missing}" "`plan_it MESH` prints\n\n| a | b |\n|---|---|\n| x | y |\n\nand this:\n\n${table}")
expect("${missing}" "```cpp\nplan_it 8;\n```\n\n${table}")

set(picture "![steps](steps.svg)\n")
set(missing "docs/measured.md: what draws the picture steps")
expect(accepted "`plan_it --plot FILE.svg` draws\n\n${picture}")
expect(accepted "Steps:\n\n${picture}\n`tests/benchmarks/run.sh plots` draws them.")
expect("${missing}" "Steps:\n\n${picture}\nThey are drawn.")
expect("${missing}" "`plan_it --plot FILE.svg` draws.\n\nSteps:\n\n${picture}")
file(REMOVE_RECURSE ${work_dir})
