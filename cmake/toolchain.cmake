# Language level, warnings and output folders.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

option(TCC_SANITIZE "Build with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
option(TCC_LIBFUZZER "Build the readers for libFuzzer, sanitized (clang only)" OFF)

# Floating point must mean the same everywhere: no contraction behind our back.
add_compile_options(-Wall -Wextra -Werror -ffp-contract=off)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # g++ 12's own std::stable_sort uses what its headers deprecate.
  add_compile_options(-Wno-deprecated-declarations)
  # A time in a precompiled header would make ccache miss all files that include it.
  add_compile_options("SHELL:-Xclang -fno-pch-timestamp")
else()
  # All cry wolf on "text" + std::to_string(n) in g++ 12 (GCC bug 105329); the others only where
  # <string> is precompiled.
  add_compile_options(-Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds)
endif()
if(TCC_LIBFUZZER)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=all)
  add_link_options(-fsanitize=address,undefined)
endif()
if(TCC_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
  # g++ 12 sees uninitialized reads in the standard library's own headers once they are instrumented.
  add_compile_options($<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
  # clang's check of called functions reads in front of them: kernels come from a JIT.
  add_compile_options($<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=function>)
  add_link_options(-fsanitize=address,undefined)
endif()

# lld, where it is installed, links tcc in 0.2 CPU seconds instead of the 1.0 of Debian's default.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  include(CheckLinkerFlag)
  check_linker_flag(CXX -fuse-ld=lld TCC_HAS_LLD)
  if(TCC_HAS_LLD)
    add_link_options(-fuse-ld=lld)
  endif()
endif()

# Messages name files from the repository's root, wherever it lies; the second form is what ccache
# makes of the same path when CCACHE_BASEDIR is set.
file(RELATIVE_PATH source_from_build ${CMAKE_BINARY_DIR} ${PROJECT_SOURCE_DIR})
add_compile_options(-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/= -fmacro-prefix-map=${source_from_build}=)

# Objects of one checkout serve another when CCACHE_BASEDIR names each one's root and
# CCACHE_NOHASHDIR is set.
find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are hashed as files, so that their macros and times need not be looked at.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_PCH_EXTSUM=1 ${CCACHE})
  set(CMAKE_C_COMPILER_LAUNCHER ${CCACHE})
endif()
