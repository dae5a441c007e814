# tcc_library(NAME [SOURCES ...] [LINKS ...] [PRIVATE_LINKS ...]): the library of one folder.
# Without SOURCES it takes every .cc file of the folder itself.
function(tcc_library name)
  cmake_parse_arguments(arg "" "" "SOURCES;LINKS;PRIVATE_LINKS" ${ARGN})
  if(NOT arg_SOURCES)
    file(GLOB arg_SOURCES CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINKS} PRIVATE ${arg_PRIVATE_LINKS})
endfunction()

# tcc_tests(FOLDER LINKS...): the Catch2 tests of tests/FOLDER, one executable and one CTest entry.
function(tcc_tests folder)
  file(GLOB sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${folder}/*_test.cc)
  if(NOT sources)
    return()
  endif()
  add_executable(${folder}_tests ${sources})
  target_link_libraries(${folder}_tests PRIVATE ${ARGN} tcc_test_main)
  add_test(NAME ${folder} COMMAND ${folder}_tests)
  set_tests_properties(${folder} PROPERTIES LABELS ${folder} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
endfunction()
