# shardweave_entries(RESULT): the entry headers of what is here
function(shardweave_entries result)
  file(GLOB entries RELATIVE ${PROJECT_SOURCE_DIR}/include CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/include/shardweave/*.hpp)
  list(REMOVE_ITEM entries shardweave/compiled.hpp)
  if(NOT TARGET shardweave::io)
    list(REMOVE_ITEM entries shardweave/io.hpp)
  endif()
  set(${result} ${entries} PARENT_SCOPE)
endfunction()
