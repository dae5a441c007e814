#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_set>
#include <vector>

#include "ir/expr/expr.h"
#include "models/onnx/import_onnx.h"
#include "models/onnx/onnx.pb.h"

namespace tcc {

// The extents of a model's inputs and outputs after --dim, --shape and --bind.
//
// Dimensions with the same name are equal: bound to one value, or one Shape variable. A name that
// looks like arithmetic ("P+S") is a name like any other. A dimension whose name is empty or "?",
// or whose extent is negative, is unnamed: it is called INPUT_AXIS and equals no other one. A given
// shape overrides an extent of 0, which old exporters write for an unknown one.
class ModelShapes {
 public:
  explicit ModelShapes(const ImportOptions& options) : options_(options) {}

  // Reads all inputs in order; must be called first. `read` holds the names of values that
  // something reads. Refuses options that name no input or dimension of the model, or that
  // contradict it or each other.
  Status ReadInputs(const std::vector<const onnxpb::ValueInfo*>& inputs,
                    const std::unordered_set<std::string>& read);

  // Returns the shape of an input.
  const std::vector<Expr>& ShapeOf(const std::string& input) const { return shapes_.at(input); }
  // Returns the shape that the model declares; nullopt if it declares none, or one with dimension
  // names that no input has.
  std::optional<std::vector<Expr>> OutputShape(const onnxpb::ValueInfo& output) const;
  // Returns the free dimensions in order of first occurrence.
  const std::vector<Var>& vars() const { return vars_; }

 private:
  Status BindDims(const std::vector<const onnxpb::ValueInfo*>& inputs);
  void TellGiven(const std::vector<const onnxpb::ValueInfo*>& inputs,
                 const std::map<std::string, std::string>& call_of) const;
  Status BindGiven(const onnxpb::ValueInfo& input, const std::vector<int64_t>& shape);
  Status Bind(const std::string& dim, int64_t value);
  Status ReadDeclared(const onnxpb::ValueInfo& input);
  Status SetShape(const onnxpb::ValueInfo& input, std::vector<Expr> shape);
  Status ReadUnused(const onnxpb::ValueInfo& input);
  DimRange RangeOf(const std::string& dim, int axis) const;
  Expr Dimension(const onnxpb::ValueInfo& input, int axis);
  std::optional<Expr> Known(const std::string& dim) const;
  Status CheckOptions(const std::vector<const onnxpb::ValueInfo*>& inputs) const;

  const ImportOptions& options_;
  std::map<std::string, int64_t> bound_;
  std::map<std::string, Var> free_;
  std::map<std::string, DimRange> ranges_;  // of dimensions that stay free, as given
  std::set<std::string> dims_;              // names of all inputs' dimensions
  std::set<std::string> hints_;
  std::vector<Var> vars_;
  bool zeros_are_unknown_ = false;  // whether a given shape has overridden an extent of 0
  std::map<std::string, std::vector<Expr>> shapes_;
};

}  // namespace tcc
