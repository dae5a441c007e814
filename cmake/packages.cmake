# Debian packages: `cpack` in the build folder. There, tcc and libtcc are the Tiny C Compiler's: ours
# have other names, and conflict with those that hold the same files. The compiler's own libraries
# (component tcc_developer) are in none of them: they change from version to version.
set(CPACK_PACKAGE_CONTACT "The tcc authors <authors@tcc.invalid>")
set(soversion ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})

# What every package of Debian says of its licence, its versions, and its libraries.
set(debian ${CMAKE_BINARY_DIR}/debian)
file(READ NOTICE notice)
file(CONFIGURE OUTPUT ${debian}/copyright CONTENT
  "${notice}\nOn Debian the licence is /usr/share/common-licenses/Apache-2.0.\n")
file(CONFIGURE OUTPUT ${debian}/changelog CONTENT
"tensor-tcc (${PROJECT_VERSION}) unstable; urgency=medium

  * CHANGELOG.md of the sources says what is new.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000
")
execute_process(COMMAND gzip -9nc ${debian}/changelog OUTPUT_FILE ${debian}/changelog.gz)
file(CONFIGURE OUTPUT ${debian}/triggers CONTENT "activate-noawait ldconfig\n")

# tcc_package(COMPONENT NAME SUMMARY [FIELD VALUE ...]): the package of a component. A FIELD is called
# as in CPACK_DEBIAN_COMPONENT_PACKAGE_FIELD.
function(tcc_package component package summary)
  string(TOUPPER ${component} upper)
  set(prefix CPACK_DEBIAN_${upper})
  set(${prefix}_PACKAGE_NAME ${package} PARENT_SCOPE)
  set(${prefix}_DESCRIPTION ${summary} PARENT_SCOPE)
  while(ARGN)
    list(POP_FRONT ARGN field value)
    set(${prefix}_PACKAGE_${field} ${value} PARENT_SCOPE)
  endwhile()
  install(FILES ${debian}/copyright ${debian}/changelog.gz COMPONENT ${component}
    DESTINATION ${CMAKE_INSTALL_DATAROOTDIR}/doc/${package})
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${component} PARENT_SCOPE)
endfunction()

set(this "(= ${PROJECT_VERSION})")
tcc_package(tcc_runtime libtensor-tcc-runtime${soversion} "Runs networks that tcc compiled"
  SECTION libs CONTROL_EXTRA ${debian}/triggers)
tcc_package(tcc libtensor-tcc${soversion} "Compiler for neural networks, as a library"
  SECTION libs RECOMMENDS tensor-tcc CONTROL_EXTRA ${debian}/triggers)
tcc_package(tcc_dev libtensor-tcc-dev "Compiler for neural networks: headers and package files"
  SECTION libdevel CONFLICTS libtcc-dev
  DEPENDS "libtensor-tcc${soversion} ${this}, libtensor-tcc-runtime${soversion} ${this}")
tcc_package(tcc_tool tensor-tcc "Compiler for neural networks"
  SECTION devel CONFLICTS tcc SUGGESTS libpq5)

set(CPACK_GENERATOR DEB)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "standalone tensor compiler")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/cmake/compress_manual.cmake)
# What is packed has been built.
set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)
include(CPack)
