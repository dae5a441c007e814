#pragma once

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "support/dtype.h"

// The words in which the languages of kernels differ. Statements and expressions are C in all of
// them, and functions of the prelude (prelude.h) have the same names up to types.
namespace tcc {

// The spelling of one element type.
struct TypeWords {
  DTypeCode code;
  std::string_view memory;       // "unsigned char" for packed types, whose elements share it
  std::string_view in_register;  // float for a narrow float, char for a packed type
  std::string_view suffix;       // of literals of the register type
};

struct Dialect {
  std::string_view language;  // for messages
  std::span<const TypeWords> types;
  // A function of several types is a template or an overload, else its name ends in the types.
  bool has_templates = false;
  // A math function of float ends in f: expf beside exp.
  bool has_float_suffix = false;
  bool has_async_copies = false;
  // A barrier orders accesses to shared memory; another one, those to global memory, too.
  bool has_global_barrier = false;
  // A buffer is handed over as an object and a place in it, from which the kernel makes its array;
  // the kernel itself says how many threads a block has along each axis.
  bool has_buffer_objects = false;
  // Every target has double, in which integers may be converted to narrow floats.
  bool has_double = false;
  // Compilers warn of names that nothing uses and of operators without parentheses.
  bool is_pedantic = false;
  // An expression that makes an element of a narrow float, as stored, from its bits: a format of
  // the memory type and the bits.
  std::string_view narrow_literal;
  // A vector type: a format of the element's memory type and the number of lanes.
  std::string_view vector_type;
  // Checks whether a variable may have the name, an identifier: it cannot be a keyword, a macro or
  // a function that kernels call.
  bool (*is_free)(std::string_view name) = nullptr;
  // Returns lane `lane` of a vector.
  std::string (*lane)(std::string_view vector, int lane) = nullptr;
  // Returns the vector of the `lanes` elements of `buffer` from `index` on.
  std::string (*load_vector)(std::string_view buffer, std::string_view index, int lanes) = nullptr;
  // Returns the call that stores a vector of `lanes` elements there.
  std::string (*store_vector)(std::string_view buffer, std::string_view index, int lanes,
                              std::string_view vector) = nullptr;
  // Returns the prelude of a text of kernels.
  std::string (*prelude)(std::string_view kernels) = nullptr;

  const TypeWords& WordsOf(DType dtype) const;
  // Returns the name of a prelude's function for these types: "tcc_floor_div<int>" or
  // "tcc_floor_div_int". Types are single words in a dialect without templates.
  std::string Generic(std::string_view function,
                      std::initializer_list<std::string_view> types_of_call) const;
  // Returns the name of a function that overload resolution finds where there is some:
  // "tcc_widen" or "tcc_widen_f16".
  std::string Overload(std::string_view function, std::string_view type) const;
  std::string VectorType(DType dtype, int lanes) const;
};

// CUDA C, for NVRTC and the emulator's host compiler.
extern const Dialect kCudaDialect;

}  // namespace tcc
