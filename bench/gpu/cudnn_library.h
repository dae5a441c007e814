#pragma once

#include <cstddef>
#include <cstdint>

#include "ir/support/status.h"
#include "runtime/cuda_api.h"

// The part of cuDNN's backend interface, version 9, that the peer uses, declared here so that no
// toolkit is needed to build; tests hold it against the real header where there is one.
namespace tcc::cudnn {

// Values of its enumerations, without their CUDNN_.
inline constexpr int kFloat = 0;                    // DATA_FLOAT
inline constexpr int kCrossCorrelation = 1;         // CROSS_CORRELATION
inline constexpr int kAdd = 0, kReluForward = 100;  // POINTWISE_*

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
  kPackIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kEngineIndex = 1301,
  kEngineNotes = 1303,
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
};

// Sought as ir/support/cuda_library.h says; the variable is TCC_CUDNN.
StatusOr<Library> OpenLibrary();

}  // namespace tcc::cudnn
