#include "tests/programs/compare_programs.h"

#include <algorithm>
#include <cmath>

#include "ir/expr/visitor.h"
#include "support/check.h"

namespace tcc {
namespace {

bool IsOutput(const Function& fn, const Var& buffer) {
  bool stored = false;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* store = stmt.as<Store>()) stored = stored || store->buffer == buffer;
    if (const auto* reduce = stmt.as<Reduce>()) {
      for (const Access& output : reduce->outputs) stored = stored || output.buffer == buffer;
    }
  });
  return stored;
}

Tensor Copy(const Tensor& tensor) {
  return MakeTensor(tensor.dtype, tensor.shape, tensor.bytes);
}

}  // namespace

std::vector<Tensor> RandomArguments(const Function& fn, Random& random) {
  std::vector<Tensor> arguments;
  for (const Buffer& param : fn.params) {
    std::vector<int64_t> shape;
    for (const Expr& dim : param.shape) shape.push_back(AsConstant(dim).value());
    Tensor tensor = MakeZeroTensor(param.dtype(), shape);
    int64_t count = ElementCount(shape).value();
    for (int64_t i = 0; i < count && !IsOutput(fn, param.var); ++i) {
      if (param.dtype().is_float()) {
        SetElement(tensor, i, random.Normal());
      } else {
        SetElementInt(tensor, i,
                      param.dtype().is_bool() ? random.Between(0, 1) : random.Between(-4, 4));
      }
    }
    arguments.push_back(std::move(tensor));
  }
  return arguments;
}

StatusOr<std::vector<Tensor>> RunInterpreter(const Function& fn,
                                             const std::vector<Tensor>& arguments,
                                             const InterpretOptions& options) {
  std::vector<Tensor> copies;
  for (const Tensor& tensor : arguments) copies.push_back(Copy(tensor));
  // Lowered functions have flat parameters of the same size.
  for (size_t i = 0; i < copies.size() && fn.level == Level::kLowered; ++i) {
    copies[i].shape = {ElementCount(copies[i].shape).value()};
  }
  TCC_RETURN_IF_ERROR(Interpret(fn, copies, options).status());
  for (size_t i = 0; i < copies.size(); ++i) copies[i].shape = arguments[i].shape;
  return copies;
}

std::string FirstDifference(const std::vector<Tensor>& got, const std::vector<Tensor>& want) {
  TCC_CHECK(got.size() == want.size()) << got.size();
  for (size_t t = 0; t < got.size(); ++t) {
    int64_t count = ElementCount(want[t].shape).value();
    for (int64_t i = 0; i < count; ++i) {
      double a = ElementAsDouble(got[t], i);
      double b = ElementAsDouble(want[t], i);
      double scale = std::max({1.0, std::abs(a), std::abs(b)});
      bool same = a == b || (std::isnan(a) && std::isnan(b)) || std::abs(a - b) <= 1e-5 * scale;
      if (!same) return fmt::format("tensor {} element {}: got {}, expected {}", t, i, a, b);
    }
  }
  return "";
}

}  // namespace tcc
