#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

// The part of oneDNN's C interface, version 2, that the peer uses. Names are without their "dnnl_".
namespace tcc::onednn {

// Values of oneDNN's enumerations.
inline constexpr int kOk = 0;
inline constexpr int kCpu = 1;
inline constexpr unsigned kInOrder = 1;
inline constexpr int kF32 = 3;
inline constexpr int kForwardInference = 96;
inline constexpr int kConvolutionDirect = 1;
inline constexpr int kQueryWeights = 131;
// Layouts, by the order of dimensions; kAny leaves it to the primitive.
inline constexpr int kAny = 1, kAb = 3, kAcdb = 20, kCdba = 30, kDecab = 33;
// Arguments of primitives.
inline constexpr int kSource = 1, kDestination = 17, kWeights = 33, kBias = 41;
inline constexpr int kEltwiseRelu = 0x1f;

// The storage of a memory or operation description, a struct that only the library looks into; the
// largest has 6 KB in version 2.6.
struct alignas(64) Description {
  std::array<unsigned char, size_t{16} * 1024> bytes{};
};

struct Argument {
  int what;
  void* memory;
};

struct Library {
  int (*engine_create)(void** engine, int kind, size_t index);
  int (*stream_create)(void** stream, void* engine, unsigned flags);
  int (*stream_wait)(void* stream);
  int (*memory_desc_init_by_tag)(Description* made, int rank, const int64_t* dims, int dtype,
                                 int tag);
  int (*memory_desc_init_by_strides)(Description* made, int rank, const int64_t* dims, int dtype,
                                     const int64_t* strides);
  int (*memory_create)(void** memory, const void* description, void* engine, void* data);
  int (*matmul_desc_init)(Description* made, const Description* source, const Description* weights,
                          const Description* bias, const Description* destination);
  int (*convolution_forward_desc_init)(Description* made, int propagation, int algorithm,
                                       const Description* source, const Description* weights,
                                       const Description* bias, const Description* destination,
                                       const int64_t* strides, const int64_t* padding_before,
                                       const int64_t* padding_after);
  int (*softmax_forward_desc_init)(Description* made, int propagation, const Description* data,
                                   int axis);
  int (*primitive_desc_create)(void** made, const Description* operation, const void* attributes,
                               void* engine, const void* hint);
  const void* (*primitive_desc_query_md)(const void* primitive_desc, int what, int index);
  int (*reorder_primitive_desc_create)(void** made, const void* from, void* from_engine,
                                       const void* to, void* to_engine, const void* attributes);
  int (*primitive_create)(void** primitive, const void* primitive_desc);
  int (*primitive_execute)(const void* primitive, void* stream, int count,
                           const Argument* arguments);
  int (*post_ops_create)(void** made);
  int (*post_ops_append_eltwise)(void* post_ops, float scale, int algorithm, float alpha,
                                 float beta);
  int (*primitive_attr_create)(void** made);
  int (*primitive_attr_set_post_ops)(void* attributes, const void* post_ops);
  // A function of the OpenMP that oneDNN runs on.
  void (*omp_set_num_threads)(int threads);
};

// Opens oneDNN; returns nullptr where it is not installed.
const Library* OpenLibrary();

}  // namespace tcc::onednn
