#pragma once

#include <cstddef>
#include <cstdint>

#include "support/cuda/cuda_api.h"
#include "support/status.h"

// The part of cuDNN, version 9, that the peer uses: its backend interface and its functions for
// single operators. Declared here so that no toolkit is needed to build; tests hold it against the
// real header where there is one.
namespace tcc::cudnn {

// Values of cuDNN's enumerations, without their CUDNN_.
inline constexpr int kFloat = 0, kHalf = 2, kBfloat16 = 9;  // DATA_*
inline constexpr int kCrossCorrelation = 1;                 // CROSS_CORRELATION
inline constexpr int kAdd = 0, kReluForward = 100;          // POINTWISE_*
inline constexpr int kLayerNorm = 0;                        // LAYER_NORM
inline constexpr int kNormInference = 0;                    // NORM_FWD_INFERENCE
inline constexpr int kMaxDims = 8;                          // DIM_MAX
// Values for the functions of single operators.
inline constexpr int kAverageOfInside = 2;         // POOLING_AVERAGE_COUNT_EXCLUDE_PADDING
inline constexpr int kSoftmaxAccurate = 1;         // SOFTMAX_ACCURATE
inline constexpr int kInstance = 0, kChannel = 1;  // SOFTMAX_MODE_*
inline constexpr int kReduceAdd = 0;               // REDUCE_TENSOR_ADD
inline constexpr int kPropagateNan = 1;            // PROPAGATE_NAN
inline constexpr int kNoIndices = 0;               // REDUCE_TENSOR_NO_INDICES
inline constexpr int kIndices32 = 0;               // 32BIT_INDICES

enum DescriptorType : int {  // BACKEND_*_DESCRIPTOR
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristic = 4,
  kExecutionPlan = 5,
  kOperationConvolutionForward = 10,
  kOperationPointwise = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
  kOperationNormForward = 29,
};

enum AttributeType : int {  // TYPE_*
  kTypeHandle = 0,
  kTypeDataType = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypePointer = 6,
  kTypeConvolutionMode = 7,
  kTypeHeuristicMode = 8,
  kTypeNumericalNote = 11,
  kTypePointwiseMode = 14,
  kTypeDescriptor = 15,
  kTypeNormMode = 27,
  kTypeNormPhase = 28,
};

enum Attribute : int {  // ATTR_*
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kConvolutionPrecision = 100,
  kConvolutionMode = 101,
  kConvolutionDilations = 102,
  kConvolutionStrides = 103,
  kConvolutionPostPaddings = 104,
  kConvolutionPrePaddings = 105,
  kConvolutionSpatialDims = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kConfigEngine = 300,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspaceBytes = 402,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConvolution = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kTensorAlignment = 900,
  kTensorDataType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorId = 906,
  kTensorIsVirtual = 907,
  kTensorIsByValue = 908,
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNotes = 1303,
  kNormMode = 2000,
  kNormPhase = 2001,
  kNormX = 2002,
  kNormScale = 2005,
  kNormBias = 2006,
  kNormEpsilon = 2007,
  kNormY = 2013,
};

enum HeuristicMode : int { kModeB = 1, kModeFallback = 2, kModeA = 3 };  // HEUR_MODE_*

enum NumericalNote : int {  // NUMERICAL_NOTE_*
  kTensorCore = 0,
  kDownConvertInputs = 1,
  kReducedPrecisionReduction = 2,
  kFft = 3,
  kWinograd = 5,
  kWinograd4x4 = 6,
  kWinograd6x6 = 7,
  kWinograd13x13 = 8,
};
inline constexpr int64_t kNoteCount = 10;

struct Library {
  int (*create)(void** handle) = nullptr;
  int (*set_stream)(void* handle, CudaStreamHandle stream) = nullptr;
  const char* (*error_text)(int status) = nullptr;
  int (*make)(int type, void** descriptor) = nullptr;
  int (*destroy)(void* descriptor) = nullptr;
  int (*finalize)(void* descriptor) = nullptr;
  int (*set)(void* descriptor, int attribute, int type, int64_t count,
             const void* values) = nullptr;
  int (*get)(const void* descriptor, int attribute, int type, int64_t requested, int64_t* count,
             void* values) = nullptr;
  int (*execute)(void* handle, void* plan, void* pack) = nullptr;

  // Descriptors of single operators.
  int (*make_tensor)(void** tensor) = nullptr;
  int (*destroy_tensor)(void* tensor) = nullptr;
  int (*set_tensor)(void* tensor, int type, int rank, const int* dims,
                    const int* strides) = nullptr;
  int (*make_pooling)(void** pooling) = nullptr;
  int (*destroy_pooling)(void* pooling) = nullptr;
  int (*set_pooling)(void* pooling, int mode, int nan, int height, int width, int pad_y, int pad_x,
                     int stride_y, int stride_x) = nullptr;
  int (*make_reduction)(void** reduction) = nullptr;
  int (*destroy_reduction)(void* reduction) = nullptr;
  int (*set_reduction)(void* reduction, int operation, int type, int nan, int indices,
                       int index_type) = nullptr;
  // y = alpha * operator(x) + beta * y, the factors on the host.
  int (*pool)(void* handle, void* pooling, const void* alpha, void* x_tensor, const void* x,
              const void* beta, void* y_tensor, void* y) = nullptr;
  int (*softmax)(void* handle, int algorithm, int mode, const void* alpha, void* x_tensor,
                 const void* x, const void* beta, void* y_tensor, void* y) = nullptr;
  int (*reduction_workspace)(void* handle, void* reduction, void* x_tensor, void* y_tensor,
                             size_t* bytes) = nullptr;
  int (*reduce)(void* handle, void* reduction, void* indices, size_t indices_bytes, void* workspace,
                size_t workspace_bytes, const void* alpha, void* x_tensor, const void* x,
                const void* beta, void* y_tensor, void* y) = nullptr;
};

// Opens cuDNN, sought as support/cuda/cuda_library.h says; the variable is TCC_CUDNN.
StatusOr<Library> OpenLibrary();

}  // namespace tcc::cudnn
