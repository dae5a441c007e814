#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "ir/expr/function.h"
#include "ir/interpret/interpreter.h"
#include "ir/text/parser.h"
#include "support/random.h"
#include "support/tensor.h"

// Functions written by hand, for tests of what the parser and the printer stand on.
namespace tcc::by_hand {

inline Buffer Declare(const std::string& name, std::vector<Expr> shape, DType dtype = kFloat32,
                      Scope scope = Scope::kGlobal) {
  Buffer buffer;
  buffer.var = BufferVar(name, dtype);
  buffer.shape = std::move(shape);
  buffer.scope = scope;
  return buffer;
}

inline Expr At(const Buffer& buffer, std::vector<Expr> indices) {
  return Make<Load>(buffer.var, std::move(indices));
}

inline Stmt Put(const Buffer& buffer, std::vector<Expr> indices, const Expr& value,
                const Expr& mask = {}) {
  return MakeStmt<Store>(buffer.var, std::move(indices), value, mask);
}

// A loop round `body`; its key is its name.
inline Stmt Loop(const Var& var, const Expr& extent, const Stmt& body,
                 ForKind kind = ForKind::kSerial) {
  return MakeStmt<For>(var, extent, kind, "l/" + var->name, body);
}

// The same without a key, for lowered functions.
inline Stmt BareLoop(const Var& var, const Expr& extent, const Stmt& body,
                     ForKind kind = ForKind::kSerial) {
  return MakeStmt<For>(var, extent, kind, "", body);
}

inline IterVar Spatial(const std::string& name, const Expr& binding, const Expr& domain) {
  return {IterationVar(name), IterKind::kSpatial, binding, domain};
}

inline IterVar Reduced(const std::string& name, const Expr& binding, const Expr& domain) {
  return {IterationVar(name), IterKind::kReduce, binding, domain};
}

inline Stmt Leaf(const std::string& name, std::vector<IterVar> iters, const Stmt& body,
                 std::vector<LoopGuard> guards = {}, const Expr& predicate = True()) {
  return MakeStmt<Block>(name, std::move(iters), std::move(guards), predicate, body);
}

inline Stmt SumInto(const Buffer& output, std::vector<Expr> indices, const Expr& input,
                    ReduceInit init = ReduceInit::kFirstInstance) {
  return MakeStmt<Reduce>(SumCombiner(input.dtype()),
                          std::vector<Access>{{output.var, std::move(indices)}},
                          std::vector<Expr>{input}, init);
}

inline Function Make(std::vector<Buffer> params, const Stmt& body, Level level = Level::kTensor,
                     std::vector<Var> vars = {}) {
  Function fn;
  fn.name = "f";
  fn.level = level;
  fn.params = std::move(params);
  fn.vars = std::move(vars);
  fn.body = body;
  return fn;
}

inline Tensor RandomTensor(std::vector<int64_t> shape, uint64_t seed) {
  Tensor tensor = MakeZeroTensor(kFloat32, std::move(shape));
  Random random(seed);
  for (size_t i = 0; i < tensor.bytes.size() / 4; ++i) {
    SetElement(tensor, static_cast<int64_t>(i), random.Normal());
  }
  return tensor;
}

inline Function Parsed(const std::string& text) {
  StatusOr<Function> fn = ParseFunction(text);
  INFO(text);
  INFO(fn.status());
  REQUIRE(fn.ok());
  return *fn;
}

inline Tensor Values(DType dtype, const std::vector<double>& values) {
  Tensor tensor = MakeZeroTensor(dtype, {static_cast<int64_t>(values.size())});
  for (size_t i = 0; i < values.size(); ++i) {
    SetElement(tensor, static_cast<int64_t>(i), values[i]);
  }
  return tensor;
}

inline std::vector<double> ValuesOf(const Tensor& tensor) {
  std::vector<double> values;
  int64_t count = ElementCount(tensor.shape).value();
  for (int64_t i = 0; i < count; ++i) values.push_back(ElementAsDouble(tensor, i));
  return values;
}

// Runs the text; it must succeed.
inline InterpretReport RunText(const std::string& text, std::vector<Tensor>& tensors,
                               const InterpretOptions& options = {}) {
  StatusOr<InterpretReport> report = Interpret(Parsed(text), tensors, options);
  INFO(text);
  INFO(report.status());
  REQUIRE(report.ok());
  return *report;
}

// What the interpreter says of a text that it must refuse.
inline Status FailureOf(const std::string& text, std::vector<Tensor> tensors,
                        const InterpretOptions& options = {}) {
  return Interpret(Parsed(text), tensors, options).status();
}

// Full of NaN: what is not written shows.
inline Tensor BlankTensor(std::vector<int64_t> shape) {
  Tensor tensor = MakeZeroTensor(kFloat32, std::move(shape));
  for (size_t i = 0; i < tensor.bytes.size() / 4; ++i) {
    SetElement(tensor, static_cast<int64_t>(i), __builtin_nan(""));
  }
  return tensor;
}

}  // namespace tcc::by_hand
