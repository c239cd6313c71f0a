set(SOURCE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../..)
if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release)  # headers only
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
                     FEATURES compiled SHARDWEAVE_WITH_COMPILED io SHARDWEAVE_WITH_IO glpk SHARDWEAVE_WITH_GLPK)
foreach(other CLP CBC HIGHS MPI NCCL CUBLAS)  # whatever is on the machine
  list(APPEND feature_options -DSHARDWEAVE_WITH_${other}=OFF)
endforeach()
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH}
                      OPTIONS -DSHARDWEAVE_BUILD_TESTS=OFF -DSHARDWEAVE_BUILD_EXAMPLES=OFF ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/shardweave)
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
foreach(build "" "/debug")  # files of pkg-config that name libraries stand beside these
  if(EXISTS "${CURRENT_PACKAGES_DIR}${build}/share/pkgconfig")
    file(MAKE_DIRECTORY "${CURRENT_PACKAGES_DIR}${build}/lib")
    file(RENAME "${CURRENT_PACKAGES_DIR}${build}/share/pkgconfig" "${CURRENT_PACKAGES_DIR}${build}/lib/pkgconfig")
  endif()
endforeach()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_fixup_pkgconfig()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
