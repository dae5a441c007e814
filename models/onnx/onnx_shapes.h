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
// or whose extent is negative, is unnamed: it is called INPUT_AXIS and equals no other one. Old
// exporters write an extent of 0 for an unknown one: on axis 0 it is unnamed likewise, with a
// warning where it stays free, and elsewhere a given shape overrides it.
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
  // A dimension of an input as the model declares it, or as the given shape of an input without a
  // declared one says.
  struct InputDim {
    std::optional<int64_t> extent;
    std::string name;  // where there is no extent
  };
  // Returns nullopt where nothing tells the rank.
  std::optional<std::vector<InputDim>> DimsOf(const onnxpb::ValueInfo& input) const;

  Status BindDims(const std::vector<const onnxpb::ValueInfo*>& inputs);
  Status TakeRange(const std::string& dim, const DimRange& given);
  void TellGiven(const std::vector<const onnxpb::ValueInfo*>& inputs,
                 const std::map<std::string, std::string>& call_of) const;
  Status BindGiven(const onnxpb::ValueInfo& input, const std::vector<int64_t>& shape);
  Status Bind(const std::string& dim, int64_t value);
  Status ReadInput(const onnxpb::ValueInfo& input, bool is_read);
  Status SetShape(const onnxpb::ValueInfo& input, std::vector<Expr> shape);
  Expr FreeDimension(const std::string& dim, size_t axis);
  std::optional<Expr> Known(const std::string& dim) const;
  void WarnOfZero(const onnxpb::ValueInfo& input) const;
  void WarnOfFree() const;
  Status CheckOptions(const std::vector<const onnxpb::ValueInfo*>& inputs) const;

  const ImportOptions& options_;
  std::map<std::string, int64_t> bound_;
  std::map<std::string, Var> free_;
  std::map<std::string, DimRange> ranges_;  // of dimensions that stay free, where given
  std::set<std::string> left_open_;         // dimensions that a given shape leaves open
  std::set<std::string> dims_;              // names of all inputs' dimensions
  std::set<std::string> hints_;
  std::vector<Var> vars_;
  std::vector<std::string> unasked_;  // free without an option: "N=1..16777216:8"
  bool zeros_are_unknown_ = false;    // whether a given shape has overridden an extent of 0
  std::map<std::string, std::vector<Expr>> shapes_;
};

}  // namespace tcc
