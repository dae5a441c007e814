#pragma once

#include <optional>
#include <string>

#include "models/onnx/external_data.h"
#include "models/onnx/onnx.pb.h"
#include "support/tensor.h"

namespace tcc {

// Returns the dtype of ONNX's TensorProto.DataType; nullopt for types that tcc does not have
// (strings, complex numbers, some float8).
std::optional<DType> FromOnnxType(int32_t type);
int32_t ToOnnxType(DType dtype);

// Returns ONNX's name for a type, with its number: "COMPLEX64 (14)"; just "99" for an unknown
// number.
std::string OnnxTypeName(int64_t type);
// Returns Unimplemented, naming the type and listing the supported ones. `what` begins the message.
Status UnsupportedType(const std::string& what, int64_t type);

struct TensorLimits {
  int64_t max_bytes = 0;  // of one tensor
};

// Returns the tensor. Its bytes are moved out of `proto` or mapped, and copied only if they must be
// changed or aligned. `what` begins the messages: "initializer 'w'".
//
// Refused: unknown types, negative or overflowing dimensions, more than one data field, a data
// field of another type, data of another length than the shape says, bools other than 0 and 1.
StatusOr<Tensor> ReadOnnxTensor(onnxpb::Tensor& proto, const std::string& what, ExternalData& files,
                                const TensorLimits& limits);

}  // namespace tcc
