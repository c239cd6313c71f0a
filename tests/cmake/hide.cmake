# cmake -D CMAKE_PROJECT_TOP_LEVEL_INCLUDES=hide.cmake -D HIDDEN=PACKAGE: as if that package was not installed, with
# whatever its Find module leaves behind then.
macro(find_package name)
  foreach(where CMAKE_PATH CMAKE_SYSTEM_PATH CMAKE_ENVIRONMENT_PATH SYSTEM_ENVIRONMENT_PATH PACKAGE_ROOT_PATH
                PACKAGE_REGISTRY INSTALL_PREFIX)
    if("${name}" STREQUAL "${HIDDEN}")
      set(CMAKE_FIND_USE_${where} OFF)
    endif()
  endforeach()
  _find_package(${ARGV})
  foreach(where CMAKE_PATH CMAKE_SYSTEM_PATH CMAKE_ENVIRONMENT_PATH SYSTEM_ENVIRONMENT_PATH PACKAGE_ROOT_PATH
                PACKAGE_REGISTRY INSTALL_PREFIX)
    if("${name}" STREQUAL "${HIDDEN}")
      unset(CMAKE_FIND_USE_${where})
    endif()
  endforeach()
endmacro()
