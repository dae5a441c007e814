#include "codegen_vdla/byte_source.h"

namespace tcc {

std::optional<ByteSource> ReadByteSource(const Expr& value) {
  const DType byte(DTypeCode::kInt8);
  if (value.dtype() != byte) return std::nullopt;
  if (const auto* load = value.as<Load>()) return ByteSource{Ref<Load>(load), false};
  const auto* cast = value.as<Cast>();
  const auto* flip = cast ? cast->value.as<Call>() : nullptr;
  if (!flip || flip->op != ScalarOp::kBitXor || !IsConstant(flip->args[1], 128)) {
    return std::nullopt;
  }
  const auto* load = flip->args[0].as<Load>();
  if (!load || load->dtype != DType(DTypeCode::kUInt8)) return std::nullopt;
  return ByteSource{Ref<Load>(load), true};
}

}  // namespace tcc
