# cmake -D CMAKE_PROJECT_TOP_LEVEL_INCLUDES=hide.cmake -D HIDDEN=PACKAGE,...: as if these packages were not installed, with
# whatever their Find modules leave behind then.
macro(find_package name)
  foreach(where CMAKE_PATH CMAKE_SYSTEM_PATH CMAKE_ENVIRONMENT_PATH SYSTEM_ENVIRONMENT_PATH PACKAGE_ROOT_PATH
                PACKAGE_REGISTRY INSTALL_PREFIX)
    if(",${HIDDEN}," MATCHES ",${name},")
      set(CMAKE_FIND_USE_${where} OFF)
    endif()
  endforeach()
  _find_package(${ARGV})
  foreach(where CMAKE_PATH CMAKE_SYSTEM_PATH CMAKE_ENVIRONMENT_PATH SYSTEM_ENVIRONMENT_PATH PACKAGE_ROOT_PATH
                PACKAGE_REGISTRY INSTALL_PREFIX)
    if(",${HIDDEN}," MATCHES ",${name},")
      unset(CMAKE_FIND_USE_${where})
    endif()
  endforeach()
endmacro()
