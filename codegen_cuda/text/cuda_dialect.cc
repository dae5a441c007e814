#include <absl/strings/ascii.h>
#include <fmt/format.h>

#include <algorithm>

#include "codegen_cuda/text/dialect.h"
#include "codegen_cuda/text/prelude.h"

namespace tcc {
namespace {

// clang-format off
constexpr TypeWords kTypes[] = {
    {DTypeCode::kBool,       "bool",               "bool",               ""},
    {DTypeCode::kInt8,       "signed char",        "signed char",        ""},
    {DTypeCode::kInt16,      "short",              "short",              ""},
    {DTypeCode::kInt32,      "int",                "int",                ""},
    {DTypeCode::kInt64,      "long long",          "long long",          "ll"},
    {DTypeCode::kUInt8,      "unsigned char",      "unsigned char",      "u"},
    {DTypeCode::kUInt16,     "unsigned short",     "unsigned short",     "u"},
    {DTypeCode::kUInt32,     "unsigned",           "unsigned",           "u"},
    {DTypeCode::kUInt64,     "unsigned long long", "unsigned long long", "ull"},
    {DTypeCode::kFloat16,    "TccF16",             "float",              "f"},
    {DTypeCode::kBFloat16,   "TccBF16",            "float",              "f"},
    {DTypeCode::kFloat32,    "float",              "float",              "f"},
    {DTypeCode::kFloat64,    "double",             "double",             ""},
    {DTypeCode::kFloat8E4M3, "TccF8E4M3",          "float",              "f"},
    {DTypeCode::kFloat8E5M2, "TccF8E5M2",          "float",              "f"},
    {DTypeCode::kInt4,       "unsigned char",      "signed char",        ""},
    {DTypeCode::kUInt4,      "unsigned char",      "unsigned char",      "u"},
    {DTypeCode::kInt2,       "unsigned char",      "signed char",        ""},
    {DTypeCode::kUInt2,      "unsigned char",      "unsigned char",      "u"},
    {DTypeCode::kTFloat32,   "TccTF32",            "float",              "f"},
};
// clang-format on

// No keyword, macro or function that kernels call has one letter, and those that end in a digit are
// macros in capitals. Types like float4 may be hidden, because kernels do not use them.
bool IsFree(std::string_view name) {
  if (name.size() == 1) return true;
  return absl::ascii_isdigit(static_cast<unsigned char>(name.back())) &&
         std::ranges::any_of(name, absl::ascii_islower);
}

std::string Lane(std::string_view vector, int lane) {
  return fmt::format("{}.v[{}]", vector, lane);
}

std::string LoadVector(std::string_view buffer, std::string_view index, int lanes) {
  return fmt::format("tcc_load_vector<{}>({}, {})", lanes, buffer, index);
}

std::string StoreVector(std::string_view buffer, std::string_view index, int /*lanes*/,
                        std::string_view vector) {
  return fmt::format("tcc_store_vector({}, {}, {})", buffer, index, vector);
}

}  // namespace

constexpr Dialect kCudaDialect = {
    .language = "CUDA C",
    .types = kTypes,
    .has_templates = true,
    .has_float_suffix = true,
    .has_async_copies = true,
    .has_double = true,
    .narrow_literal = "{}{{{:#x}}}",
    .vector_type = "TccVector<{}, {}>",
    .is_free = IsFree,
    .lane = Lane,
    .load_vector = LoadVector,
    .store_vector = StoreVector,
    .prelude = [](std::string_view /*kernels*/) { return std::string(CudaPrelude()); }};

}  // namespace tcc
