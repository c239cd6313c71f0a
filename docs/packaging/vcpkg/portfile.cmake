set(SOURCE_PATH ${CMAKE_CURRENT_LIST_DIR}/../../..)
if(NOT "compiled" IN_LIST FEATURES)
  set(VCPKG_BUILD_TYPE release)  # headers only
endif()

vcpkg_check_features(OUT_FEATURE_OPTIONS feature_options
                     FEATURES compiled SHARDWEAVE_WITH_COMPILED io SHARDWEAVE_WITH_IO glpk SHARDWEAVE_WITH_GLPK)
vcpkg_cmake_configure(SOURCE_PATH ${SOURCE_PATH}
                      OPTIONS -DSHARDWEAVE_BUILD_TESTS=OFF -DSHARDWEAVE_BUILD_EXAMPLES=OFF ${feature_options})
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/cmake/shardweave)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/share/doc")
if("compiled" IN_LIST FEATURES)
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug/include" "${CURRENT_PACKAGES_DIR}/debug/share")
else()
  file(REMOVE_RECURSE "${CURRENT_PACKAGES_DIR}/debug" "${CURRENT_PACKAGES_DIR}/lib")
endif()
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
