#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "ir/expr.h"
#include "models/import_onnx.h"
#include "models/onnx.pb.h"

namespace tcc {

// The extents of a model's inputs and outputs after --dim, --shape and --bind.
//
// Dimensions of one name are one: bound to a value, or one Shape variable. A name that looks like
// arithmetic ("P+S") is a name like any other.
class ModelShapes {
 public:
  explicit ModelShapes(const ImportOptions& options) : options_(options), bound_(options.dims) {}

  // All inputs in order, before anything is asked. Refuses options that name no input or dimension
  // of the model or contradict it or each other.
  Status ReadInputs(const std::vector<const onnxpb::ValueInfo*>& inputs);

  // Of an input.
  const std::vector<Expr>& ShapeOf(const std::string& input) const { return shapes_.at(input); }
  // As the model states it; nullopt where it states none or in terms that no input has.
  std::optional<std::vector<Expr>> OutputShape(const onnxpb::ValueInfo& output) const;
  // Free dimensions by first occurrence.
  const std::vector<Var>& vars() const { return vars_; }

 private:
  Status BindGiven(const onnxpb::ValueInfo& input, const std::vector<int64_t>& shape);
  Status Bind(const std::string& dim, int64_t value);
  StatusOr<Expr> Dimension(const onnxpb::ValueInfo& input, int axis);
  Expr Named(const std::string& dim);
  Status CheckOptions(const std::vector<const onnxpb::ValueInfo*>& inputs) const;

  const ImportOptions& options_;
  std::map<std::string, int64_t> bound_;
  std::map<std::string, Var> free_;
  std::set<std::string> dims_;  // names that occur in the inputs
  std::set<std::string> hints_;
  std::vector<Var> vars_;
  std::map<std::string, std::vector<Expr>> shapes_;
};

}  // namespace tcc
