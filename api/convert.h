#pragma once

#include <new>

#define TCC_IMPLEMENTATION
#include "api/tcc_runtime.h"
#include "runtime/artefact/metadata.h"
#include "support/status.h"
#include "support/tensor.h"

// Conversions between the embedding API's types, tcc::v1, and the compiler's own.
namespace tcc {

// Converts a status; the message names the fields of CompileOptions that are at fault or would
// help.
v1::Status ToApi(const Status& status);

// Returns the result of `call`, or kNoMemory if it throws std::bad_alloc, so that nothing is thrown
// into the embedding program.
template <typename Call>
auto WithinMemory(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return v1::Status(v1::Code::kNoMemory, "out of memory");
  }
}

// Returns nullopt for a number that is no type.
std::optional<DType> ToDType(v1::DType dtype);
// Returns the error for a number that is no type; `what` names its owner.
Status NoDType(v1::DType dtype, const std::string& what);

v1::TensorInfo ToApi(const TensorInfo& info, const Metadata& metadata);
v1::KernelInfo ToApi(const KernelInfo& info);

// Return views of the caller's memory in the order of the model's inputs. An input without a shape
// gets the declared one. Fail, naming the input, where one is unknown, given twice or missing, has
// no memory, or leaves a free dimension open.
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const v1::Input> inputs);
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const v1::DeviceTensor> inputs);
// Do the same for outputs, whose shapes are known by now. Shapes that the caller gives are taken as
// they are; the callee must check them.
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const std::vector<int64_t>> shapes,
                                           std::span<const v1::Output> outputs);
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const std::vector<int64_t>> shapes,
                                           std::span<const v1::DeviceTensor> outputs);

}  // namespace tcc
