#include "compiler/check/random_inputs.h"

#include "runtime/executor/aligned_memory.h"
#include "runtime/executor/binding.h"
#include "support/random.h"

namespace tcc {
namespace {

void Fill(Tensor& tensor, Random& random) {
  int64_t count = ElementCount(tensor.shape).value_or(0);
  for (int64_t i = 0; i < count; ++i) {
    if (tensor.dtype.is_float()) {
      SetElement(tensor, i, random.Normal());
    } else {
      SetElementInt(tensor, i, random.Between(0, tensor.dtype.is_bool() ? 1 : 7));
    }
  }
}

}  // namespace

StatusOr<std::vector<Tensor>> RandomInputs(const Metadata& metadata, uint64_t seed) {
  std::vector<int64_t> least;
  for (const ShapeVariable& variable : metadata.shape_variables) least.push_back(variable.low);
  Random random(seed);
  std::vector<Tensor> inputs;
  for (const TensorInfo& info : metadata.inputs) {
    TCC_ASSIGN_OR_RETURN(std::vector<int64_t> shape, ShapeOf(info, least));
    TCC_ASSIGN_OR_RETURN(Tensor tensor,
                         AllocateTensor(info.dtype, shape, "input '" + info.name + "'"));
    Random own = random.Fork();
    Fill(tensor, own);
    inputs.push_back(std::move(tensor));
  }
  return inputs;
}

}  // namespace tcc
