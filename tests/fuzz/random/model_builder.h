#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "support/random.h"
#include "support/tensor.h"
#include "tests/models/onnx_bytes.h"

namespace tcc {

// A value of a random model, with what its operators must know to stay within sense.
struct ModelValue {
  std::string name;
  DTypeCode type = DTypeCode::kFloat32;
  std::vector<int64_t> shape;
  double bound = 1;    // no element's magnitude is larger
  bool exact = false;  // small multiples of 1/8: may be rounded, compared and sorted without doubt

  int64_t rank() const { return static_cast<int64_t>(shape.size()); }
  int64_t count() const;
  bool is_float() const { return DType(type).is_float(); }
};

// A dimension of inputs that runs choose. Axes of inputs that have its extent are it.
struct FreeDim {
  const char* name;
  int64_t extent;  // where the model is built; a number that no other dimension has
};

// Describes an input, to draw other elements for it.
struct ModelInput {
  DTypeCode type;
  std::vector<int64_t> shape;
  std::vector<std::string> dims;  // names of free dimensions, else numbers
  double bound;
};

// Multiples of 1/8 in [-bound, bound], integers from -bound to bound.
Tensor RandomTensor(DTypeCode type, const std::vector<int64_t>& shape, double bound,
                    Random& random);

// An ONNX model under construction. Every node that is added is valid: shapes fit by construction.
class ModelBuilder {
 public:
  ModelBuilder(Random& random, int opset) : random(random), opset(opset) {}

  Random& random;
  const int opset;
  DTypeCode real = DTypeCode::kFloat32;  // of operators that are drawn in one float type
  std::vector<FreeDim> free;

  // Elements are RandomTensor's.
  ModelValue AddInput(DTypeCode type, const std::vector<int64_t>& shape, double bound);
  // The same as an initializer.
  ModelValue AddConstant(DTypeCode type, const std::vector<int64_t>& shape, double bound);
  // Operands like Reshape's shape: an initializer or a Constant node.
  std::string AddInts(const std::vector<int64_t>& values);
  std::string AddInt(int64_t value);  // of rank 0
  std::string AddTensor(const Tensor& tensor);

  // A node with one result of the type, shape and so on that `result` says; its name is given here.
  ModelValue Add(const std::string& op, const std::vector<std::string>& inputs, ModelValue result,
                 const std::vector<onnx_bytes::Wire>& attributes = {});
  // The node alone.
  void AddNode(const std::string& op, const std::vector<std::string>& inputs,
               const std::vector<std::string>& outputs,
               const std::vector<onnx_bytes::Wire>& attributes = {});
  std::string FreshName();
  // Makes the value one that later nodes may read.
  void Keep(const ModelValue& value) { values_.push_back(value); }

  // A value that `fits`, later ones more often; nothing where there is none.
  template <typename Predicate>
  std::optional<ModelValue> Pick(Predicate fits) {
    std::vector<const ModelValue*> found;
    for (const ModelValue& value : values_) {
      if (fits(value)) found.push_back(&value);
    }
    if (found.empty()) return std::nullopt;
    size_t a = random.Below(found.size());
    size_t b = random.Below(found.size());
    return *found[std::max(a, b)];
  }
  std::optional<ModelValue> PickFloat(double bound, int64_t least_rank = 0);

  // Whether an extent depends on free dimensions, as far as numbers tell: constants that have it,
  // or operands that count on it, would bind them.
  bool Varies(int64_t extent) const;
  bool AnyVaries(std::span<const int64_t> extents) const;

  // An axis of a rank of at least 1, now and then counted from the end.
  int64_t AnyAxis(int64_t rank, int64_t* written);
  bool Chance(int percent) { return random.Below(100) < static_cast<uint64_t>(percent); }

  int nodes() const { return static_cast<int>(spec_.nodes.size()); }
  const std::vector<std::string>& ops() const { return ops_; }
  const std::vector<ModelInput>& input_infos() const { return input_infos_; }
  const std::vector<Tensor>& inputs() const { return inputs_; }
  // The inputs' whole shapes; none where dimensions are free.
  const std::map<std::string, std::vector<int64_t>>& shapes() const { return shapes_; }
  // Returns the free dimensions that inputs have.
  std::vector<FreeDim> free_dims() const;
  bool has_half() const { return has_half_; }

  // The model; what nobody reads are its outputs, five at most (more hide no mistake).
  std::string Finish();

 private:
  onnx_bytes::ModelSpec spec_;
  std::vector<ModelValue> values_;
  std::vector<std::string> ops_;
  std::vector<ModelInput> input_infos_;
  std::vector<Tensor> inputs_;
  std::map<std::string, std::vector<int64_t>> shapes_;
  bool has_half_ = false;
  int names_ = 0;
};

// Of a tensor's type.
int OnnxTypeOf(DTypeCode type);

}  // namespace tcc
