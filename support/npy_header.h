#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "support/dtype.h"
#include "support/status.h"

// The header of an .npy file: a Python dictionary of three keys.
namespace tcc {

struct NpyHeader {
  DType dtype;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// Parses the dictionary alone, e.g. {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }.
// Keys may come in any order, each once; strings carry no escapes; white space may follow.
StatusOr<NpyHeader> ParseNpyHeader(std::string_view text);
std::string NpyHeaderText(std::string_view descr, const std::vector<int64_t>& shape);

// Returns "<f4" for f32, "|b1" for bool, "<V2" for bf16; nullopt for a type that NumPy does not
// have.
std::optional<std::string_view> NpyDescr(DType dtype);

}  // namespace tcc
