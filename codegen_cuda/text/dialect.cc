#include "codegen_cuda/text/dialect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "support/check.h"

namespace tcc {

const TypeWords& Dialect::WordsOf(DType dtype) const {
  for (const TypeWords& row : types) {
    if (row.code == dtype.code()) return row;
  }
  TCC_UNREACHABLE();
}

std::string Dialect::Generic(std::string_view function,
                             std::initializer_list<std::string_view> types_of_call) const {
  if (has_templates) return fmt::format("{}<{}>", function, fmt::join(types_of_call, ", "));
  return fmt::format("{}_{}", function, fmt::join(types_of_call, "_"));
}

std::string Dialect::Overload(std::string_view function, std::string_view type) const {
  return has_templates ? std::string(function) : fmt::format("{}_{}", function, type);
}

std::string Dialect::VectorType(DType dtype, int lanes) const {
  return fmt::format(fmt::runtime(vector_type), WordsOf(dtype).memory, lanes);
}

}  // namespace tcc
