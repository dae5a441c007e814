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
add_library(tcc_precompiled OBJECT ${TCC_EMPTY_SOURCE})
target_link_libraries(tcc_precompiled PRIVATE absl::status absl::statusor fmt::fmt)
target_precompile_headers(tcc_precompiled PRIVATE ${TCC_PRECOMPILED})

# tcc_reuse_precompiled(TARGET [FROM]): the headers above, or those of another target.
function(tcc_reuse_precompiled target)
  set(from tcc_precompiled)
  if(ARGC GREATER 1)
    set(from ${ARGV1})
  endif()
  target_compile_options(${target} PRIVATE -fPIC)
  target_precompile_headers(${target} REUSE_FROM ${from})
endfunction()
