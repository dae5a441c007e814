// oneDNN: matrix products, convolutions, softmax; weights in the layout that it picks.

#include <bit>

#include "bench/cpu/onednn_library.h"
#include "bench/cpu/peers.h"
#include "support/check.h"

namespace tcc {
namespace {

using namespace onednn;

// A builder of oneDNN's objects. Primitives, memories and streams live until the program ends.
class Builder {
 public:
  Builder() : lib_(*OpenLibrary()) {
    Expect(lib_.engine_create(&engine_, kCpu, 0));
    Expect(lib_.stream_create(&stream_, engine_, kInOrder));
  }

  Description Describe(const std::vector<int64_t>& dims, int layout) const {
    Description made;
    Expect(lib_.memory_desc_init_by_tag(&made, static_cast<int>(dims.size()), dims.data(), kF32,
                                        layout));
    return made;
  }

  // Describes a row-major tensor.
  Description DescribePlain(const std::vector<int64_t>& dims) const {
    std::vector<int64_t> strides(dims.size(), 1);
    for (size_t i = dims.size() - 1; i-- > 0;) strides[i] = strides[i + 1] * dims[i + 1];
    Description made;
    Expect(lib_.memory_desc_init_by_strides(&made, static_cast<int>(dims.size()), dims.data(), kF32,
                                            strides.data()));
    return made;
  }

  // Makes a memory around `data`; without `data`, the library allocates it.
  void* Memory(const void* description, const Tensor* data) const {
    void* own = std::bit_cast<void*>(~uintptr_t{0});
    void* memory = nullptr;
    Expect(lib_.memory_create(&memory, description, engine_,
                              data ? const_cast<uint8_t*>(data->bytes.data()) : own));
    return memory;
  }

  void* PrimitiveDesc(const Description& operation, const void* attributes = nullptr) const {
    void* made = nullptr;
    Expect(lib_.primitive_desc_create(&made, &operation, attributes, engine_, nullptr));
    return made;
  }

  // Packs weights into the layout that the primitive wants.
  void* Weights(void* primitive_desc, const Description& given, const Tensor& data) const {
    const void* wanted = lib_.primitive_desc_query_md(primitive_desc, kQueryWeights, 0);
    void* packed = Memory(wanted, nullptr);
    void* reorder = nullptr;
    Expect(lib_.reorder_primitive_desc_create(&reorder, &given, engine_, wanted, engine_, nullptr));
    Run(reorder, {{kSource, Memory(&given, &data)}, {kDestination, packed}})();
    return packed;
  }

  std::function<void()> Run(void* primitive_desc, std::vector<Argument> arguments) const {
    void* primitive = nullptr;
    Expect(lib_.primitive_create(&primitive, primitive_desc));
    return [this_lib = &lib_, stream = stream_, primitive, arguments = std::move(arguments)] {
      Expect(this_lib->primitive_execute(primitive, stream, static_cast<int>(arguments.size()),
                                         arguments.data()));
      Expect(this_lib->stream_wait(stream));
    };
  }

  // Returns the attributes of an operation whose result is rectified.
  void* ReluAttributes() const {
    void* post_ops = nullptr;
    void* attributes = nullptr;
    Expect(lib_.post_ops_create(&post_ops));
    Expect(lib_.post_ops_append_eltwise(post_ops, 1.0F, kEltwiseRelu, 0.0F, 0.0F));
    Expect(lib_.primitive_attr_create(&attributes));
    Expect(lib_.primitive_attr_set_post_ops(attributes, post_ops));
    return attributes;
  }

  const Library& lib() const { return lib_; }

 private:
  static void Expect(int status) { TCC_CHECK(status == kOk) << "oneDNN fails with " << status; }

  const Library& lib_;
  void* engine_ = nullptr;
  void* stream_ = nullptr;
};

std::function<void()> Gemm(const Builder& builder, const BenchKernel& kernel,
                           const std::vector<Tensor>& arguments) {
  Description a = builder.Describe({kernel.rows, kernel.depth}, kAb);
  Description b = builder.Describe({kernel.depth, kernel.columns}, kAb);
  Description any = builder.Describe({kernel.depth, kernel.columns}, kAny);
  Description c = builder.Describe({kernel.rows, kernel.columns}, kAb);
  Description operation;
  TCC_CHECK(builder.lib().matmul_desc_init(&operation, &a, &any, nullptr, &c) == kOk);
  void* desc = builder.PrimitiveDesc(operation);
  return builder.Run(desc, {{kSource, builder.Memory(&a, &arguments[0])},
                            {kWeights, builder.Weights(desc, b, arguments[1])},
                            {kDestination, builder.Memory(&c, &arguments[2])}});
}

std::function<void()> Convolution(const Builder& builder, const BenchKernel& kernel,
                                  const std::vector<Tensor>& arguments) {
  bool depthwise = kernel.kind == KernelKind::kDepthwise;
  Description x = builder.Describe({1, kernel.in, kernel.side, kernel.side}, kAcdb);
  Description y = builder.Describe({1, kernel.out, kernel.side, kernel.side}, kAcdb);
  std::vector<int64_t> filter = {kernel.out, kernel.in, kernel.taps, kernel.taps};
  if (depthwise) filter = {kernel.in, 1, 1, kernel.taps, kernel.taps};
  Description w = builder.Describe(filter, depthwise ? kDecab : kCdba);
  Description any = builder.Describe(filter, kAny);
  int64_t strides[] = {1, 1}, padding[] = {kernel.taps / 2, kernel.taps / 2};
  Description operation;
  TCC_CHECK(builder.lib().convolution_forward_desc_init(&operation, kForwardInference,
                                                        kConvolutionDirect, &x, &any, nullptr, &y,
                                                        strides, padding, padding) == kOk);
  void* desc = builder.PrimitiveDesc(operation);
  return builder.Run(desc, {{kSource, builder.Memory(&x, &arguments[0])},
                            {kWeights, builder.Weights(desc, w, arguments[1])},
                            {kDestination, builder.Memory(&y, &arguments[2])}});
}

std::function<void()> Softmax(const Builder& builder, const BenchKernel& kernel,
                              const std::vector<Tensor>& arguments) {
  Description data = builder.Describe({kernel.rows, kernel.columns}, kAb);
  Description operation;
  TCC_CHECK(builder.lib().softmax_forward_desc_init(&operation, kForwardInference, &data, 1) ==
            kOk);
  return builder.Run(builder.PrimitiveDesc(operation),
                     {{kSource, builder.Memory(&data, &arguments[0])},
                      {kDestination, builder.Memory(&data, &arguments[1])}});
}

std::function<void()> RunOf(const Builder& builder, const BenchKernel& kernel,
                            const std::vector<Tensor>& arguments) {
  switch (kernel.kind) {
    case KernelKind::kGemm:
      return Gemm(builder, kernel, arguments);
    case KernelKind::kConvolution:
    case KernelKind::kDepthwise:
      return Convolution(builder, kernel, arguments);
    case KernelKind::kSoftmax:
      return Softmax(builder, kernel, arguments);
  }
  return {};
}

// Makes a convolution of images in the layout of the operator.
std::function<void()> Convolution(const Builder& builder, const ConvolutionOp& op,
                                  const std::vector<Tensor>& inputs,
                                  const std::vector<Tensor>& constants, const Tensor& output) {
  const WindowShape& window = op.window;
  std::vector<int64_t> in = {window.batch, window.channels, window.height, window.width};
  std::vector<int64_t> out = {window.batch, op.filters, window.OutHeight(), window.OutWidth()};
  Description x = op.channels_last ? builder.Describe(in, kAcdb) : builder.DescribePlain(in);
  Description y = op.channels_last ? builder.Describe(out, kAcdb) : builder.DescribePlain(out);
  std::vector<int64_t> filter = constants[0].shape;
  if (op.groups > 1) {
    filter[0] /= op.groups;
    filter.insert(filter.begin(), op.groups);
  }
  Description w = builder.DescribePlain(filter);
  Description any = builder.Describe(filter, kAny);
  Description bias = builder.DescribePlain({op.filters});
  int64_t strides[] = {window.stride, window.stride};
  int64_t before[] = {window.top, window.left}, after[] = {window.bottom, window.right};
  Description operation;
  TCC_CHECK(builder.lib().convolution_forward_desc_init(
                &operation, kForwardInference, kConvolutionDirect, &x, &any,
                op.bias_relu ? &bias : nullptr, &y, strides, before, after) == kOk);
  void* desc = builder.PrimitiveDesc(operation, op.bias_relu ? builder.ReluAttributes() : nullptr);
  std::vector<Argument> arguments = {{kSource, builder.Memory(&x, &inputs[0])},
                                     {kWeights, builder.Weights(desc, w, constants[0])},
                                     {kDestination, builder.Memory(&y, &output)}};
  if (op.bias_relu) arguments.push_back({kBias, builder.Memory(&bias, &constants[1])});
  return builder.Run(desc, std::move(arguments));
}

}  // namespace

std::function<void()> OnednnOperator(const BenchOperator& op, const std::vector<Tensor>& inputs,
                                     const std::vector<Tensor>& constants, const Tensor& output,
                                     int threads) {
  if (!HasOnednn()) return {};
  OpenLibrary()->omp_set_num_threads(threads);
  if (const auto* matmul = std::get_if<MatmulOp>(&op.kind); matmul && matmul->batch == 1) {
    BenchKernel kernel{.name = "matmul",
                       .kind = KernelKind::kGemm,
                       .rows = matmul->rows,
                       .columns = matmul->columns,
                       .depth = matmul->depth};
    return Gemm(Builder(), kernel, {inputs[0], constants[0], output});
  }
  if (const auto* softmax = std::get_if<SoftmaxOp>(&op.kind)) {
    BenchKernel kernel{.name = "softmax",
                       .kind = KernelKind::kSoftmax,
                       .rows = softmax->rows,
                       .columns = softmax->columns};
    return Softmax(Builder(), kernel, {inputs[0], output});
  }
  if (const auto* convolution = std::get_if<ConvolutionOp>(&op.kind)) {
    return Convolution(Builder(), *convolution, inputs, constants, output);
  }
  return {};
}

bool HasOnednn() {
  return OpenLibrary() != nullptr;
}

// Sets the number of threads before the primitives are made, which depend on it.
std::function<void()> OnednnKernel(const BenchKernel& kernel, const std::vector<Tensor>& arguments,
                                   int threads) {
  if (!HasOnednn()) return {};
  OpenLibrary()->omp_set_num_threads(threads);
  return RunOf(Builder(), kernel, arguments);
}

}  // namespace tcc
