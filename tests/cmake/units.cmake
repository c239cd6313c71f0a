# What both builds of tests/run.sh compile together: the tests of rooms that share most of what they read and
# instantiate. Those of a room alone are one unit, too. The longest are first, so that none is left alone at the end.
set(CMAKE_UNITY_BUILD ON CACHE BOOL "")
set(CMAKE_UNITY_BUILD_BATCH_SIZE 60 CACHE STRING "")
set(SHARDWEAVE_TEST_UNITS
    "overlap io lowering report planner programs core graph tasks bucketing cost models;solve;placement spmd schedule simulate"
    CACHE STRING "")
