#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/dtype.h"
#include "support/status.h"
#include "support/tensor.h"

// NumPy's array files (numpy.lib.format, versions 1.0, 2.0 and 3.0).
//
// Types: bool, (u)int8..64, float16, float32, float64, little-endian, and bfloat16 as NumPy's raw
// two-byte type ("V2"), which `.view(ml_dtypes.bfloat16)` turns back into bfloat16. Arrays in
// Fortran order are transposed on reading. Everything else (big-endian, complex, strings, dates,
// records, Python objects) is refused by name; the header is read by a fixed grammar and never
// evaluated.
namespace tcc {

StatusOr<Tensor> ReadNpy(const std::string& path);
// Parses a file's content like ReadNpy; the tensor owns a copy of the elements. Refuses bytes after
// the last element and bools that are neither 0 nor 1.
StatusOr<Tensor> ParseNpy(std::span<const uint8_t> file);

// Writes what numpy.save writes: version 1.0, C order, elements at a multiple of 64 bytes. Refuses
// types that NumPy does not have (f8*, i4, u4, i2, u2).
Status WriteNpy(const Tensor& tensor, const std::string& path);
StatusOr<std::vector<uint8_t>> NpyBytes(const Tensor& tensor);

// The header of an .npy file: a Python dictionary of three keys.
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
