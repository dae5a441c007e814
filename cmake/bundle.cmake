# Programs and a library that need next to nothing of the machine they run on: linked once more from
# the objects and archives of this build, with other libraries from archives, and stripped. Nothing
# is compiled twice. They are built when they are asked for:
#
#   tcc_static tcc-worker_static tcc_runtime_static      what scripts/bundle.sh packs, in static/
#   PROGRAM_portable                                     without LLVM, so small, in portable/

# Debian has no archive of fmt, and Abseil's beside its libraries.
add_library(tcc_fmt_archive STATIC EXCLUDE_FROM_ALL cmake/archives/fmt.cc)
target_link_libraries(tcc_fmt_archive PRIVATE fmt::fmt)
set(other_archives $<TARGET_FILE:tcc_fmt_archive>)
get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
foreach(target ${imported})
  get_target_property(type ${target} TYPE)
  if(target MATCHES "^absl::" AND type STREQUAL "SHARED_LIBRARY")
    get_target_property(library ${target} IMPORTED_LOCATION_NONE)
    string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${library})
    list(APPEND other_archives ${archive})
  endif()
endforeach()
foreach(name crypto lzma protobuf-lite sqlite3 z zstd)
  find_library(tcc_${name}_archive lib${name}.a)
  if(NOT tcc_${name}_archive)
    message(STATUS "No bundle can be linked: lib${name}.a was not found")
    return()
  endif()
  list(APPEND other_archives ${tcc_${name}_archive})
endforeach()

# LLVM's archives name libraries that nothing here calls, Polly and libz3 among them.
add_library(tcc_llvm_parts OBJECT EXCLUDE_FROM_ALL cmake/archives/llvm.cc)
target_include_directories(tcc_llvm_parts SYSTEM PRIVATE ${LLVM_INCLUDE_DIRS})
set_property(TARGET LLVMSupport PROPERTY INTERFACE_LINK_LIBRARIES LLVMDemangle
             ${tcc_z_archive} ${tcc_zstd_archive})
set_property(TARGET LLVMExtensions PROPERTY INTERFACE_LINK_LIBRARIES LLVMSupport)
llvm_map_components_to_libnames(llvm_archives lto option debuginfodwarf orcjit passes X86)
list(PREPEND llvm_archives $<TARGET_OBJECTS:tcc_llvm_parts> $<TARGET_FILE:lldELF>
     $<TARGET_FILE:lldCommon>)

add_library(tcc_arc4random OBJECT EXCLUDE_FROM_ALL cmake/archives/arc4random.cc)
set(static_options -static-libgcc -Wl,--gc-sections -Wl,--as-needed -s)

# Links the objects of PROGRAM and the archives of LIBRARIES of this build and of LLVM as
# PROGRAM_FOLDER.
function(tcc_static_program program folder)
  cmake_parse_arguments(PARSE_ARGV 2 arg "" "" "LIBRARIES;LLVM")
  list(TRANSFORM arg_LIBRARIES REPLACE "(.+)" "$<TARGET_FILE:\\1>")
  list(JOIN arg_LIBRARIES , own)
  list(JOIN other_archives , other)
  set(target ${program}_${folder})
  add_executable(${target} EXCLUDE_FROM_ALL $<TARGET_OBJECTS:${program}>
    $<TARGET_OBJECTS:tcc_arc4random>)
  target_link_options(${target} PRIVATE -static-libstdc++ ${static_options})
  target_link_libraries(${target} PRIVATE $<LINK_GROUP:RESCAN,${own}> ${arg_LLVM}
    $<LINK_GROUP:RESCAN,${other}> Threads::Threads ${CMAKE_DL_LIBS} m)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${program} LINKER_LANGUAGE CXX
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/${folder})
endfunction()

foreach(program tcc tcc-worker)
  tcc_static_program(${program} static LIBRARIES ${developer_libraries} LLVM ${llvm_archives})
endforeach()

tcc_library(tcc_without_llvm SOURCES codegen_llvm/without_llvm.cc LINKS tcc_lower tcc_artefact)
set(portable_libraries ${developer_libraries} tcc_without_llvm)
list(REMOVE_ITEM portable_libraries tcc_codegen_llvm)
foreach(program tcc tcc-worker tcc-bench)
  tcc_static_program(${program} portable LIBRARIES ${portable_libraries})
endforeach()
if(TCC_TESTS)
  tcc_static_program(tcc-fuzz portable
    LIBRARIES ${portable_libraries} tcc_test_programs tcc_test_on_device tcc_test_emulated
              tcc_test_opencl_syntax)
  tcc_static_program(tcc-twins portable
    LIBRARIES ${portable_libraries} tcc_test_kernels tcc_test_on_device)
endif()

# The runtime with Abseil's libraries beside it, in tcc/: their archives are for programs. The linker
# seeks what they name in turn there too, because the path is no RUNPATH.
add_library(tcc_runtime_static SHARED EXCLUDE_FROM_ALL $<TARGET_OBJECTS:tcc_runtime_shared>)
target_link_options(tcc_runtime_static PRIVATE ${static_options} -Wl,--exclude-libs,ALL
  -Wl,--disable-new-dtags)
target_link_libraries(tcc_runtime_static PRIVATE
  $<LINK_GROUP:RESCAN,$<TARGET_FILE:tcc_runtime>,$<TARGET_FILE:tcc_artefact>,$<TARGET_FILE:tcc_support>>
  absl::status absl::statusor $<TARGET_FILE:tcc_fmt_archive> ${tcc_crypto_archive} Threads::Threads
  ${CMAKE_DL_LIBS})
set_target_properties(tcc_runtime_static PROPERTIES OUTPUT_NAME tcc_runtime LINKER_LANGUAGE CXX
  SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR} BUILD_RPATH "$ORIGIN/tcc"
  LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/static)
