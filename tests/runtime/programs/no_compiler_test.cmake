# cmake -DREADELF=... -DPROGRAM=... -P: fails if PROGRAM needs a compiler's library or contains its
# code. A runtime without symbols to look at would fail too.
execute_process(COMMAND ${READELF} -d --wide ${PROGRAM} OUTPUT_VARIABLE needed COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${READELF} -s --wide ${PROGRAM} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)

if(NOT needed MATCHES "NEEDED.*libstdc\\+\\+")
  message(FATAL_ERROR "no dynamic section in ${PROGRAM}:\n${needed}")
endif()
if(NOT symbols MATCHES "N3tcc8Executor")
  message(FATAL_ERROR "${PROGRAM} does not contain the runtime")
endif()
string(TOLOWER "${needed}" needed)
if(needed MATCHES "llvm|lld|clang|nvrtc|protobuf")
  message(FATAL_ERROR "the runtime needs a compiler's library:\n${needed}")
endif()
if(symbols MATCHES "N4llvm|N3lld|N3tcc5Graph|N3tcc8ExprNode")
  message(FATAL_ERROR "the runtime contains a compiler's code")
endif()
