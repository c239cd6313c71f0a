# Target CLP::CLP, with CoinUtils
find_path(CLP_INCLUDE_DIR ClpSimplex.hpp PATH_SUFFIXES coin coin-or)
find_library(CLP_LIBRARY Clp)
find_library(COINUTILS_LIBRARY CoinUtils)
mark_as_advanced(CLP_INCLUDE_DIR CLP_LIBRARY COINUTILS_LIBRARY)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CLP REQUIRED_VARS CLP_LIBRARY COINUTILS_LIBRARY CLP_INCLUDE_DIR)
if(CLP_FOUND AND NOT TARGET CLP::CLP)
  add_library(CLP::CLP UNKNOWN IMPORTED)
  set_target_properties(CLP::CLP PROPERTIES IMPORTED_LOCATION "${CLP_LIBRARY}"
                                            INTERFACE_LINK_LIBRARIES "${COINUTILS_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${CLP_INCLUDE_DIR}")
endif()
