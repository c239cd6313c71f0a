# Target doctest_as_used, where doctest is: as tests, and what is precompiled for them, use it.
find_package(doctest QUIET)
if(doctest_FOUND)
  add_library(doctest_as_used INTERFACE)
  target_link_libraries(doctest_as_used INTERFACE doctest::doctest)
  target_compile_definitions(doctest_as_used INTERFACE
                             # from 2.4.10 on it tells an address otherwise; 2.4.9 does not compile with it
                             $<$<VERSION_GREATER_EQUAL:${doctest_VERSION},2.4.10>:DOCTEST_CONFIG_TREAT_CHAR_STAR_AS_STRING>
                             DOCTEST_CONFIG_VOID_CAST_EXPRESSIONS=  # lets a nodiscard call stand in CHECK_THROWS
                             # a quarter of the compiler's time; an exception in a check ends its test case
                             DOCTEST_CONFIG_NO_TRY_CATCH_IN_ASSERTS DOCTEST_CONFIG_SUPER_FAST_ASSERTS)
  # its macros count, which clang++ warns of from 22 on
  target_compile_options(doctest_as_used INTERFACE
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,22>>:-Wno-c2y-extensions>)
endif()
