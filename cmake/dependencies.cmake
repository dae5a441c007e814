# Libraries from the distribution; scripts/setup.sh installs them.
find_package(Threads REQUIRED)
find_package(absl REQUIRED)
find_package(fmt REQUIRED)
find_package(OpenSSL REQUIRED COMPONENTS Crypto)
find_package(nlohmann_json REQUIRED)
if(TCC_RUNTIME_ONLY)
  return()
endif()
find_package(Protobuf REQUIRED)
find_package(ZLIB REQUIRED)
find_package(SQLite3 REQUIRED)
find_package(CLI11 REQUIRED)
find_package(Eigen3 REQUIRED NO_MODULE)
find_package(LibLZMA REQUIRED)
find_package(zstd REQUIRED)
if(TCC_TESTS)
  find_package(Catch2 2 REQUIRED)
endif()

# LLVM compares major and minor; plain "19" would be refused by 19.1. LLD's package file pulls in the
# same LLVM and exports liblldELF and liblldCommon, archives that name the shared LLVM.
find_package(LLVM 19.1 REQUIRED CONFIG PATHS /usr/lib/llvm-19)
find_package(LLD REQUIRED CONFIG PATHS ${LLVM_DIR}/../lld /usr/lib/llvm-19 NO_DEFAULT_PATH)

# tcc_llvm: what codegen_llvm links: LLVM's headers as system headers, LLD's archives, and LLVM.
add_library(tcc_llvm INTERFACE)
separate_arguments(tcc_llvm_definitions NATIVE_COMMAND "${LLVM_DEFINITIONS}")
# Macros that C++11 made needless; precompiled headers do not have them.
list(FILTER tcc_llvm_definitions EXCLUDE REGEX "__STDC_")
target_compile_options(tcc_llvm INTERFACE ${tcc_llvm_definitions})
target_include_directories(tcc_llvm SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${LLD_INCLUDE_DIRS})
target_link_libraries(tcc_llvm INTERFACE lldELF lldCommon LLVM)
# Programs export none of LLVM's symbols in LLD's archives, which the dynamic linker would take for
# those of the LLVM that an OpenCL driver brings into the same process.
target_link_options(tcc_llvm INTERFACE -Wl,--exclude-libs,ALL)
