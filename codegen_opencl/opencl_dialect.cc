#include "codegen_opencl/opencl_dialect.h"

#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>

#include "codegen_opencl/opencl_prelude.h"

namespace tcc {
namespace {

// A pointer to bool cannot be an argument.
constexpr TypeWords kTypes[] = {
    {DTypeCode::kBool, "uchar", "bool", ""},
    {DTypeCode::kInt8, "char", "char", ""},
    {DTypeCode::kInt16, "short", "short", ""},
    {DTypeCode::kInt32, "int", "int", ""},
    {DTypeCode::kInt64, "long", "long", "L"},
    {DTypeCode::kUInt8, "uchar", "uchar", "u"},
    {DTypeCode::kUInt16, "ushort", "ushort", "u"},
    {DTypeCode::kUInt32, "uint", "uint", "u"},
    {DTypeCode::kUInt64, "ulong", "ulong", "uL"},
    {DTypeCode::kFloat16, "ushort", "float", "f"},
    {DTypeCode::kBFloat16, "ushort", "float", "f"},
    {DTypeCode::kFloat32, "float", "float", "f"},
    {DTypeCode::kFloat64, "double", "double", ""},
    {DTypeCode::kFloat8E4M3, "uchar", "float", "f"},
    {DTypeCode::kFloat8E5M2, "uchar", "float", "f"},
    {DTypeCode::kInt4, "uchar", "char", ""},
    {DTypeCode::kUInt4, "uchar", "uchar", "u"},
    {DTypeCode::kInt2, "uchar", "char", ""},
    {DTypeCode::kUInt2, "uchar", "uchar", "u"},
    {DTypeCode::kTFloat32, "uint", "float", "f"},
};

// The language has hundreds of functions and types whose names end in a digit (float4, log2,
// vload_half2), but none of one letter and none that ends in an underscore and digits.
bool IsFree(std::string_view name) {
  if (name.size() == 1) return true;
  const size_t end = name.find_last_not_of("0123456789");
  return end != std::string_view::npos && end + 1 < name.size() && name[end] == '_' &&
         std::ranges::any_of(name, absl::ascii_islower);
}

std::string Lane(std::string_view vector, int lane) {
  return fmt::format("{}.s{:x}", vector, lane);
}

std::string LoadVector(std::string_view buffer, std::string_view index, int lanes) {
  return fmt::format("vload{}(0, &{}[{}])", lanes, buffer, index);
}

std::string StoreVector(std::string_view buffer, std::string_view index, int lanes,
                        std::string_view vector) {
  return fmt::format("vstore{}({}, 0, &{}[{}])", lanes, vector, buffer, index);
}

}  // namespace

constexpr Dialect kOpenClDialect = {.language = "OpenCL C",
                                    .types = kTypes,
                                    .has_global_barrier = true,
                                    .has_buffer_objects = true,
                                    .is_pedantic = true,
                                    .narrow_literal = "({}){:#x}",
                                    .vector_type = "{}{}",
                                    .is_free = IsFree,
                                    .lane = Lane,
                                    .load_vector = LoadVector,
                                    .store_vector = StoreVector,
                                    .prelude = OpenClPrelude};

}  // namespace tcc
