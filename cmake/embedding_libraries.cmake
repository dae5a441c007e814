# What other programs link: libtcc (compiles and runs) and libtcc_runtime (runs), their headers, a
# package file for CMake each and two for pkg-config, for C++ and for C. docs/embedding.md and
# docs/c.md are the guides.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

# The installed tree may be moved.
file(RELATIVE_PATH prefix_from_pkgconfig /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)

# What the library says of itself is what the package files say of it.
file(STRINGS ${PROJECT_SOURCE_DIR}/support/version.h version_line REGEX "kVersion")
if(NOT version_line MATCHES "\"${PROJECT_VERSION}\"")
  message(FATAL_ERROR "support/version.h says ${version_line}; the project's version is ${PROJECT_VERSION}")
endif()

# Only the embedding API is exported: the compiler's own classes, and the static libraries inside,
# must not meet other versions of themselves in the program.
function(tcc_embedding_library target output)
  cmake_parse_arguments(arg "" "" "SOURCES;HEADERS;LINKS" ${ARGN})
  add_library(${target} SHARED ${arg_SOURCES})
  add_library(tcc::${output} ALIAS ${target})
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${target} PRIVATE ${arg_LINKS})
  target_link_options(${target} PRIVATE -Wl,--exclude-libs,ALL)
  target_compile_features(${target} INTERFACE cxx_std_20)
  target_include_directories(${target} INTERFACE $<BUILD_INTERFACE:${CMAKE_BINARY_DIR}/include>)
  # Before 1.0 a minor version may change the ABI.
  set_target_properties(${target} PROPERTIES
    OUTPUT_NAME ${output} EXPORT_NAME ${output}
    VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
    LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib
    PUBLIC_HEADER "${arg_HEADERS}")
  install(TARGETS ${target} EXPORT tcc_targets
    LIBRARY COMPONENT ${output} NAMELINK_COMPONENT tcc_dev
    PUBLIC_HEADER DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tcc COMPONENT tcc_dev
    INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
endfunction()

function(tcc_pkg_config_file name library description flags)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/library.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc COMPONENT tcc_dev
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()

# <tcc/tcc.h> for programs in this build.
file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/include)
file(CREATE_LINK ${PROJECT_SOURCE_DIR}/api ${CMAKE_BINARY_DIR}/include/tcc SYMBOLIC)

set(api ${PROJECT_SOURCE_DIR}/api)
set(c_sources ${api}/c_dlpack.cc ${api}/c_errors.cc ${api}/c_options.cc ${api}/c_runtime.cc)
set(runtime_sources ${c_sources} ${api}/c_load_options.cc ${api}/convert.cc ${api}/module.cc
    ${api}/runtime_devices.cc)
set(compiler_sources ${c_sources} ${api}/all_devices.cc ${api}/c_compile.cc
    ${api}/c_compile_options.cc ${api}/compile.cc ${api}/compile_request.cc ${api}/convert.cc
    ${api}/module.cc ${api}/session.cc ${api}/tune.cc)

tcc_embedding_library(tcc_runtime_shared tcc_runtime
  SOURCES ${runtime_sources}
  HEADERS ${api}/tcc_c.h ${api}/tcc_runtime.h ${api}/tcc_status.h
  LINKS tcc_runtime)
tcc_embedding_library(tcc_shared tcc
  SOURCES ${compiler_sources}
  HEADERS ${api}/tcc.h ${api}/tcc_c.h ${api}/tcc_compile_c.h ${api}/tcc_runtime.h
          ${api}/tcc_status.h
  LINKS tcc_api)
tcc_pkg_config_file(tcc_runtime tcc_runtime "Runs networks that tcc compiled" -std=c++20)
tcc_pkg_config_file(tcc-c tcc_runtime "Runs networks that tcc compiled, from C" "")
tcc_pkg_config_file(tcc tcc "Tensor compiler: compiles networks and runs them" -std=c++20)
tcc_pkg_config_file(tcc-compile-c tcc "Tensor compiler: compiles networks and runs them, from C" "")

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/tcc)
install(EXPORT tcc_targets NAMESPACE tcc:: COMPONENT tcc_dev DESTINATION ${package_folder}
  FILE tccTargets.cmake)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/tccConfig.cmake.in
  ${CMAKE_BINARY_DIR}/tccConfig.cmake INSTALL_DESTINATION ${package_folder})
# As the libraries' SOVERSION: before 1.0 another minor version does not do.
write_basic_package_version_file(${CMAKE_BINARY_DIR}/tccConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/tccConfig.cmake ${CMAKE_BINARY_DIR}/tccConfigVersion.cmake
  COMPONENT tcc_dev DESTINATION ${package_folder})
