# Headers of other libraries that most files include, read once: half of what compiling one of our
# files takes is reading absl/status/statusor.h and fmt/format.h again. No header of ours is among
# them, so that each file still names what it uses of ours.
#
# A precompiled header fits only files that are compiled with the same options. Everything is
# compiled for libraries (-fPIC), so that one serves libraries and executables.
set(TCC_PRECOMPILED
  <algorithm> <cstdint> <functional> <map> <memory> <numeric> <optional> <set> <span> <string>
  <unordered_map> <unordered_set> <utility> <vector>
  <fmt/format.h> <fmt/ranges.h> <absl/status/status.h> <absl/status/statusor.h>)

# A target needs a file to have headers compiled for.
set(TCC_EMPTY_SOURCE ${CMAKE_BINARY_DIR}/empty.cc)
file(CONFIGURE OUTPUT ${TCC_EMPTY_SOURCE} CONTENT "")

# tcc_precompile(TARGET LINKS ... HEADERS ...): compiles the headers for other targets to
# reuse. ccache knows clang's file by the text of the headers (pch_external_checksum): the file itself
# holds the path of the build, so that no object would serve another checkout.
function(tcc_precompile target)
  cmake_parse_arguments(arg "" "" "LINKS;HEADERS" ${ARGN})
  add_library(${target} OBJECT ${TCC_EMPTY_SOURCE})
  target_link_libraries(${target} PRIVATE ${arg_LINKS})
  target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
  if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    return()
  endif()
  set(includes "")
  foreach(header ${arg_HEADERS})
    string(APPEND includes "#include ${header}\n")
  endforeach()
  set(all ${CMAKE_CURRENT_BINARY_DIR}/${target}.h)
  file(CONFIGURE OUTPUT ${all} CONTENT "${includes}")
  execute_process(COMMAND ${CMAKE_CXX_COMPILER} -std=c++20 -E -P -x c++ ${all}
    OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(SHA256 sum "${text}")
  set(precompiled ${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.dir/cmake_pch.hxx.pch)
  file(CONFIGURE OUTPUT ${precompiled}.sum CONTENT "${sum}\n")
  set_target_properties(${target} PROPERTIES TCC_PRECOMPILED ${precompiled})
  # An upgrade of the libraries makes another text.
  if(EXISTS /var/lib/dpkg/status)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS /var/lib/dpkg/status)
  endif()
endfunction()

tcc_precompile(tcc_precompiled LINKS absl::status absl::statusor fmt::fmt HEADERS ${TCC_PRECOMPILED})

# tcc_reuse_precompiled(TARGET [FROM]): the headers above, or those of another target.
function(tcc_reuse_precompiled target)
  set(from tcc_precompiled)
  if(ARGC GREATER 1)
    set(from ${ARGV1})
  endif()
  target_compile_options(${target} PRIVATE -fPIC)
  get_target_property(precompiled ${from} TCC_PRECOMPILED)
  if(NOT precompiled)
    target_precompile_headers(${target} REUSE_FROM ${from})
    return()
  endif()
  # By a path from the build folder, where commands run: CMake's own option names the checkout.
  file(RELATIVE_PATH relative ${CMAKE_BINARY_DIR} ${precompiled})
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-include-pch ${relative}>")
  # At the end of the folder, when the target has all of its sources.
  cmake_language(EVAL CODE "cmake_language(DEFER CALL tcc_wait_for_precompiled ${target} ${precompiled})")
endfunction()

function(tcc_wait_for_precompiled target precompiled)
  get_target_property(sources ${target} SOURCES)
  list(FILTER sources EXCLUDE REGEX "^\\$<")
  set_property(SOURCE ${sources} APPEND PROPERTY OBJECT_DEPENDS ${precompiled})
endfunction()
