#pragma once

#include <new>

#define TCC_IMPLEMENTATION
#include "api/tcc_runtime.h"
#include "runtime/artefact/metadata.h"
#include "support/status.h"
#include "support/tensor.h"

// Between the embedding API's types, tcc::v1, and the compiler's own.
namespace tcc {

// Names the fields of CompileOptions that are at fault or would help.
v1::Status ToApi(const Status& status);

// What `call` returns, or that memory is short: nothing is thrown into the program around.
template <typename Call>
auto WithinMemory(Call&& call) -> decltype(call()) {
  try {
    return call();
  } catch (const std::bad_alloc&) {
    return v1::Status(v1::Code::kNoMemory, "out of memory");
  }
}

// Nothing for a number that is no type.
std::optional<DType> ToDType(v1::DType dtype);
// That it is none; `what` is whose it is.
Status NoDType(v1::DType dtype, const std::string& what);

v1::TensorInfo ToApi(const TensorInfo& info, const Metadata& metadata);
v1::KernelInfo ToApi(const KernelInfo& info);

// Views of the caller's memory in the order of the model's inputs; shapes that are not given are
// the declared ones. Fails, naming the input, where one is unknown, given twice or missing, has no
// memory, or leaves a free dimension open.
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const v1::Input> inputs);
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const v1::DeviceTensor> inputs);
// The same of outputs, whose shapes are known by now; those that are given must be checked.
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const std::vector<int64_t>> shapes,
                                           std::span<const v1::Output> outputs);
StatusOr<std::vector<Tensor>> ArrangeViews(const Metadata& metadata,
                                           std::span<const std::vector<int64_t>> shapes,
                                           std::span<const v1::DeviceTensor> outputs);

}  // namespace tcc
