# Programs that run on any x86-64 Linux whose glibc is as new as that of the build: everything else
# is linked from archives, and nothing that is not used is kept.
set(CMAKE_FIND_LIBRARY_SUFFIXES .a)
set(Protobuf_USE_STATIC_LIBS ON)
set(OPENSSL_USE_STATIC_LIBS ON)
add_link_options(-static-libstdc++ -static-libgcc -Wl,--gc-sections -Wl,--as-needed -s)

# Debian has Abseil's archives beside the libraries that its package file names, and of fmt only the
# library: what its header declares to be elsewhere is compiled here.
macro(tcc_link_archives)
  get_property(imported DIRECTORY PROPERTY IMPORTED_TARGETS)
  foreach(target ${imported})
    get_target_property(type ${target} TYPE)
    if(target MATCHES "^absl::" AND type STREQUAL "SHARED_LIBRARY")
      get_target_property(library ${target} IMPORTED_LOCATION_NONE)
      string(REGEX REPLACE "\\.so[.0-9]*$" ".a" archive ${library})
      set_target_properties(${target} PROPERTIES IMPORTED_LOCATION_NONE ${archive}
                            IMPORTED_LOCATION ${archive})
    endif()
  endforeach()
  set(fmt_source ${CMAKE_BINARY_DIR}/fmt_library.cc)
  file(CONFIGURE OUTPUT ${fmt_source} CONTENT [[
#include <fmt/format-inl.h>
template auto fmt::detail::thousands_sep_impl<char>(fmt::detail::locale_ref)
    -> fmt::detail::thousands_sep_result<char>;
template auto fmt::detail::decimal_point_impl<char>(fmt::detail::locale_ref) -> char;
template auto fmt::detail::dragonbox::to_decimal(float) noexcept
    -> fmt::detail::dragonbox::decimal_fp<float>;
template auto fmt::detail::dragonbox::to_decimal(double) noexcept
    -> fmt::detail::dragonbox::decimal_fp<double>;
template auto fmt::detail::locale_ref::get<std::locale>() const -> std::locale;
]])
  add_library(tcc_fmt STATIC ${fmt_source})
  set_target_properties(fmt::fmt PROPERTIES
    IMPORTED_LOCATION_NONE
      ${CMAKE_CURRENT_BINARY_DIR}/${CMAKE_STATIC_LIBRARY_PREFIX}tcc_fmt${CMAKE_STATIC_LIBRARY_SUFFIX})
  add_dependencies(fmt::fmt tcc_fmt)
endmacro()
