# cmake -DREADELF=... -DPROGRAM=... -P: fails if PROGRAM, which links LLD's archives, exports a symbol
# of LLVM's. The dynamic linker would take it for that of another LLVM, which an OpenCL driver brings.
execute_process(COMMAND ${READELF} --dyn-syms --wide ${PROGRAM} OUTPUT_VARIABLE symbols
                COMMAND_ERROR_IS_FATAL ANY)
if(NOT symbols MATCHES "UND _ZN[a-zA-Z0-9]*4llvm")
  message(FATAL_ERROR "${PROGRAM} does not use LLVM")
endif()
string(REGEX MATCHALL "[^\n]*_Z[a-zA-Z0-9]*(4llvm|3lld)[^\n]*" of_llvm "${symbols}")
list(FILTER of_llvm EXCLUDE REGEX " UND ")
list(LENGTH of_llvm count)
if(count GREATER 0)
  list(JOIN of_llvm "\n" lines)
  message(FATAL_ERROR "${PROGRAM} exports ${count} symbols of LLVM:\n${lines}")
endif()
