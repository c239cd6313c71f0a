# Target CBC::CBC, with Cgl, Osi and CLP
find_path(CBC_INCLUDE_DIR CbcModel.hpp PATH_SUFFIXES coin coin-or)
find_library(CBC_LIBRARY Cbc)
find_library(CGL_LIBRARY Cgl)
find_library(OSICLP_LIBRARY OsiClp)
find_library(OSI_LIBRARY Osi)
mark_as_advanced(CBC_INCLUDE_DIR CBC_LIBRARY CGL_LIBRARY OSICLP_LIBRARY OSI_LIBRARY)
find_package(CLP QUIET)
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(CBC REQUIRED_VARS CBC_LIBRARY CGL_LIBRARY OSICLP_LIBRARY OSI_LIBRARY CBC_INCLUDE_DIR
                                                    CLP_FOUND)
if(CBC_FOUND AND NOT TARGET CBC::CBC)
  add_library(CBC::CBC UNKNOWN IMPORTED)
  set_target_properties(CBC::CBC PROPERTIES IMPORTED_LOCATION "${CBC_LIBRARY}"
                                            INTERFACE_INCLUDE_DIRECTORIES "${CBC_INCLUDE_DIR}")
  target_link_libraries(CBC::CBC INTERFACE "${CGL_LIBRARY}" "${OSICLP_LIBRARY}" "${OSI_LIBRARY}" CLP::CLP)
endif()
