#include "bench/gpu/cudnn_functions.h"

#include <algorithm>
#include <array>
#include <memory>

namespace tcc::cudnn {
namespace {

using Candidates = std::vector<GpuCandidate>;
using Dims = std::vector<int64_t>;
// A descriptor, destroyed with its last user.
using Shared = std::shared_ptr<void>;

constexpr float kOne = 1, kZero = 0;  // the factors of the result and of the content before
// The least number of axes that cuDNN accepts; missing ones are last and have extent 1.
constexpr size_t kMinDims = 4;

StatusOr<Shared> Make(const Session& session, int (*make)(void**), int (*destroy)(void*),
                      const char* what) {
  void* handle = nullptr;
  TCC_RETURN_IF_ERROR(session.Expect(make(&handle), "making", what));
  return Shared(handle, destroy);
}

StatusOr<Shared> MakeTensor(const Session& session, const Dims& dims, const Dims& strides) {
  const Library& library = session.library();
  constexpr char kWhat[] = "a tensor";
  TCC_ASSIGN_OR_RETURN(Shared tensor,
                       Make(session, library.make_tensor, library.destroy_tensor, kWhat));
  const std::vector<int> extents(dims.begin(), dims.end()), steps(strides.begin(), strides.end());
  int set = library.set_tensor(tensor.get(), kFloat, static_cast<int>(dims.size()), extents.data(),
                               steps.data());
  TCC_RETURN_IF_ERROR(session.Expect(set, "cudnnSetTensorNdDescriptor", kWhat));
  return tensor;
}

// Describes a tensor whose elements are contiguous.
StatusOr<Shared> MakeDenseTensor(const Session& session, Dims dims) {
  dims.resize(std::max(dims.size(), kMinDims), 1);
  Dims strides(dims.size(), 1);
  for (size_t axis = dims.size() - 1; axis-- > 0;) {
    strides[axis] = strides[axis + 1] * dims[axis + 1];
  }
  return MakeTensor(session, dims, strides);
}

// Describes a tensor [n, c, h, w], laid out so or as [n, h, w, c].
StatusOr<Shared> MakeImage(const Session& session, const Dims& dims, bool channels_last) {
  if (!channels_last) return MakeDenseTensor(session, dims);
  const int64_t c = dims[1], h = dims[2], w = dims[3];
  return MakeTensor(session, dims, {h * w * c, 1, w * c, c});
}

StatusOr<Shared> MakePooling(const Session& session, const WindowShape& window) {
  const Library& library = session.library();
  constexpr char kWhat[] = "pooling";
  TCC_ASSIGN_OR_RETURN(Shared pooling,
                       Make(session, library.make_pooling, library.destroy_pooling, kWhat));
  const int kernel = static_cast<int>(window.kernel), stride = static_cast<int>(window.stride);
  int set = library.set_pooling(pooling.get(), kAverageOfInside, kPropagateNan, kernel, kernel,
                                static_cast<int>(window.top), static_cast<int>(window.left), stride,
                                stride);
  TCC_RETURN_IF_ERROR(session.Expect(set, "cudnnSetPooling2dDescriptor", kWhat));
  return pooling;
}

// Returns whether equal padding on both sides has the same result. Padding does not count in the
// mean, so that it makes no difference beyond the last window.
bool IsEvenlyPadded(const WindowShape& window) {
  WindowShape even = window;
  even.bottom = window.top;
  even.right = window.left;
  return even.OutHeight() == window.OutHeight() && even.OutWidth() == window.OutWidth();
}

}  // namespace

StatusOr<Candidates> PoolingCandidates(const Session& session, const AveragePoolOp& op) {
  const WindowShape& window = op.window;
  Candidates candidates;
  if (!IsEvenlyPadded(window)) return candidates;
  TCC_ASSIGN_OR_RETURN(Shared pooling, MakePooling(session, window));
  const Dims in = {window.batch, window.channels, window.height, window.width};
  const Dims out = {window.batch, window.channels, window.OutHeight(), window.OutWidth()};
  for (bool channels_last : {false, true}) {
    TCC_ASSIGN_OR_RETURN(Shared x, MakeImage(session, in, channels_last));
    TCC_ASSIGN_OR_RETURN(Shared y, MakeImage(session, out, channels_last));
    candidates.push_back(
        {.algorithm = channels_last ? "PoolingForward, NHWC" : "PoolingForward, NCHW",
         .channels_last = channels_last,
         .enqueue = [&session, pooling, x, y](const GpuOperands& operands) {
           int result =
               session.library().pool(session.handle(), pooling.get(), &kOne, x.get(),
                                      operands.inputs[0], &kZero, y.get(), operands.outputs[0]);
           return session.Expect(result, "cudnnPoolingForward", "an image");
         }});
  }
  return candidates;
}

// Describes a row as an instance that is normalized as a whole, or as the channels of one pixel.
StatusOr<Candidates> SoftmaxCandidates(const Session& session, const SoftmaxOp& op) {
  TCC_ASSIGN_OR_RETURN(Shared rows, MakeDenseTensor(session, {op.rows, op.columns}));
  Candidates candidates;
  for (int mode : {kInstance, kChannel}) {
    candidates.push_back(
        {.algorithm = mode == kInstance ? "SoftmaxForward, instances" : "SoftmaxForward, channels",
         .enqueue = [&session, rows, mode](const GpuOperands& operands) {
           int result = session.library().softmax(session.handle(), kSoftmaxAccurate, mode, &kOne,
                                                  rows.get(), operands.inputs[0], &kZero,
                                                  rows.get(), operands.outputs[0]);
           return session.Expect(result, "cudnnSoftmaxForward", "rows");
         }});
  }
  return candidates;
}

StatusOr<Candidates> SumCandidates(const Session& session, const ReduceSumOp& op,
                                   const GpuBench& bench) {
  if (op.shape.size() > kMaxDims) return Candidates();
  const Library& library = session.library();
  constexpr char kWhat[] = "a sum";
  TCC_ASSIGN_OR_RETURN(Shared reduction,
                       Make(session, library.make_reduction, library.destroy_reduction, kWhat));
  int set = library.set_reduction(reduction.get(), kReduceAdd, kFloat, kPropagateNan, kNoIndices,
                                  kIndices32);
  TCC_RETURN_IF_ERROR(session.Expect(set, "cudnnSetReduceTensorDescriptor", kWhat));
  Dims out = op.shape;
  for (int64_t axis : op.axes) out[static_cast<size_t>(axis)] = 1;
  TCC_ASSIGN_OR_RETURN(Shared x, MakeDenseTensor(session, op.shape));
  TCC_ASSIGN_OR_RETURN(Shared y, MakeDenseTensor(session, out));
  size_t bytes = 0;
  int sized =
      library.reduction_workspace(session.handle(), reduction.get(), x.get(), y.get(), &bytes);
  TCC_RETURN_IF_ERROR(session.Expect(sized, "cudnnGetReductionWorkspaceSize", kWhat));
  TCC_ASSIGN_OR_RETURN(CudaMemory memory,
                       bench.Allocate(static_cast<int64_t>(bytes), "cuDNN's workspace"));
  auto workspace = std::make_shared<CudaMemory>(std::move(memory));
  auto enqueue = [&session, reduction, x, y, workspace](const GpuOperands& operands) {
    int result =
        session.library().reduce(session.handle(), reduction.get(), nullptr, 0, workspace->data(),
                                 static_cast<size_t>(workspace->bytes()), &kOne, x.get(),
                                 operands.inputs[0], &kZero, y.get(), operands.outputs[0]);
    return session.Expect(result, "cudnnReduceTensor", "an array");
  };
  Candidates candidates;
  candidates.push_back({.algorithm = "ReduceTensor", .enqueue = enqueue});
  return candidates;
}

}  // namespace tcc::cudnn
