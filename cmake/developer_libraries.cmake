# What programs link that extend the compiler, with sketch rules of their own say: the libraries of
# the folders and their headers. They change from version to version; docs/embedding.md is the guide.
set(developer_headers ${CMAKE_INSTALL_INCLUDEDIR}/tcc-developer)
set(developer_libraries tcc_support tcc_ir tcc_models tcc_graph tcc_schedule tcc_lower
    tcc_autodiff_features tcc_artefact tcc_runtime tcc_cuda_emulator tcc_codegen_cuda tcc_codegen_llvm
    tcc_codegen_opencl tcc_codegen_vdla tcc_search
    tcc_compiler tcc_api)

# tcc-developer::tcc_api has all of them, in this build as where it is installed.
add_library(tcc-developer::tcc_api ALIAS tcc_api)
install(TARGETS ${developer_libraries} tcc_llvm EXPORT tcc_developer_targets COMPONENT tcc_developer
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/tcc-developer
  INCLUDES DESTINATION ${developer_headers})
foreach(folder support ir models graph schedule lower autodiff_features codegen_cuda codegen_llvm
        runtime search compiler api)
  install(DIRECTORY ${PROJECT_SOURCE_DIR}/${folder} COMPONENT tcc_developer
    DESTINATION ${developer_headers} FILES_MATCHING PATTERN "*.h" PATTERN "*.inc"
    # Headers of one room alone that need protoc's or libpq's.
    REGEX "/models/onnx/onnx_[^/]*$|/postgres_library.h$" EXCLUDE)
endforeach()
# But for what import_onnx.h includes.
install(FILES ${PROJECT_SOURCE_DIR}/models/onnx/onnx_survey.h COMPONENT tcc_developer
  DESTINATION ${developer_headers}/models/onnx)
install(EXPORT tcc_developer_targets NAMESPACE tcc-developer:: COMPONENT tcc_developer
  DESTINATION ${package_folder} FILE tccDeveloperTargets.cmake)
