#include <catch2/catch.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "bench/gpu/cublas_library.h"
#include "bench/gpu/cudnn_library.h"
#include "runtime/cupti/cupti_api.h"
#include "runtime/cupti/cupti_profiler_api.h"
#include "tests/runtime/passed_alike.h"

#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>)
#include <cublasLt.h>
#include <cublas_v2.h>

namespace {

using tcc::test::Alike;
using tcc::test::Same;

#define TCC_ALIKE(ours, theirs) static_assert(Alike<decltype(ours), decltype(&::theirs)>::value)
using Blas = tcc::cublas::Library;
TCC_ALIKE(Blas::status_text, cublasGetStatusString);
TCC_ALIKE(Blas::create, cublasCreate_v2);
TCC_ALIKE(Blas::set_stream, cublasSetStream_v2);
TCC_ALIKE(Blas::set_workspace, cublasSetWorkspace_v2);
TCC_ALIKE(Blas::set_math_mode, cublasSetMathMode);
TCC_ALIKE(Blas::sgemm, cublasSgemm_v2);
TCC_ALIKE(Blas::sgemm_strided_batched, cublasSgemmStridedBatched);
static_assert(Same(tcc::cublas::kNoTranspose, CUBLAS_OP_N));
static_assert(Same(tcc::cublas::kTranspose, CUBLAS_OP_T));
static_assert(Same(tcc::cublas::kFloat, CUDA_R_32F));
static_assert(Same(tcc::cublas::kHalf, CUDA_R_16F));
static_assert(Same(tcc::cublas::kBfloat16, CUDA_R_16BF));
static_assert(Same(tcc::cublas::kCompute32F, CUBLAS_COMPUTE_32F));
static_assert(Same(tcc::cublas::kFast16F, CUBLAS_COMPUTE_32F_FAST_16F));
static_assert(Same(tcc::cublas::kFast16BF, CUBLAS_COMPUTE_32F_FAST_16BF));
static_assert(Same(tcc::cublas::kFastTf32, CUBLAS_COMPUTE_32F_FAST_TF32));
#if CUBLAS_VERSION >= 120900
static_assert(Same(tcc::cublas::kEmulated16BFx9, CUBLAS_COMPUTE_32F_EMULATED_16BFX9));
#endif
static_assert(Same(tcc::cublas::kGemmDefault, CUBLAS_GEMM_DEFAULT));
static_assert(Same(tcc::cublas::kDefaultMath, CUBLAS_DEFAULT_MATH));
// C++ has an overload of it with other types.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void*, const void*, cudaDataType, int, const void*,
                                  cudaDataType, int, const void*, void*, cudaDataType, int,
                                  cublasComputeType_t, cublasGemmAlgo_t);
static_assert(
    Alike<decltype(Blas::gemm_ex), decltype(static_cast<GemmEx>(&::cublasGemmEx))>::value);
using GemmStridedBatchedEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t,
                                                cublasOperation_t, int, int, int, const void*,
                                                const void*, cudaDataType, int, long long,
                                                const void*, cudaDataType, int, long long,
                                                const void*, void*, cudaDataType, int, long long,
                                                int, cublasComputeType_t, cublasGemmAlgo_t);
static_assert(
    Alike<decltype(Blas::gemm_strided_batched_ex),
          decltype(static_cast<GemmStridedBatchedEx>(&::cublasGemmStridedBatchedEx))>::value);

using Lt = tcc::cublaslt::Library;
TCC_ALIKE(Lt::status_text, cublasLtGetStatusString);
TCC_ALIKE(Lt::create, cublasLtCreate);
TCC_ALIKE(Lt::desc_create, cublasLtMatmulDescCreate);
TCC_ALIKE(Lt::layout_create, cublasLtMatrixLayoutCreate);
TCC_ALIKE(Lt::layout_set, cublasLtMatrixLayoutSetAttribute);
TCC_ALIKE(Lt::preference_create, cublasLtMatmulPreferenceCreate);
TCC_ALIKE(Lt::preference_set, cublasLtMatmulPreferenceSetAttribute);
TCC_ALIKE(Lt::heuristic, cublasLtMatmulAlgoGetHeuristic);
TCC_ALIKE(Lt::config_get, cublasLtMatmulAlgoConfigGetAttribute);
TCC_ALIKE(Lt::matmul, cublasLtMatmul);
static_assert(sizeof(tcc::cublaslt::Algorithm) == sizeof(cublasLtMatmulAlgo_t));
static_assert(sizeof(tcc::cublaslt::HeuristicResult) == sizeof(cublasLtMatmulHeuristicResult_t));
static_assert(offsetof(tcc::cublaslt::HeuristicResult, state) ==
              offsetof(cublasLtMatmulHeuristicResult_t, state));
static_assert(Same(tcc::cublaslt::kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT));
static_assert(Same(tcc::cublaslt::kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET));
static_assert(Same(tcc::cublaslt::kPreferenceWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES));
static_assert(Same(tcc::cublaslt::kConfigId, CUBLASLT_ALGO_CONFIG_ID));
static_assert(Same(tcc::cublaslt::kConfigTile, CUBLASLT_ALGO_CONFIG_TILE_ID));
static_assert(Same(tcc::cublaslt::kConfigSplitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM));
static_assert(Same(tcc::cublaslt::kConfigStages, CUBLASLT_ALGO_CONFIG_STAGES_ID));

}  // namespace
#endif

#if __has_include(<cudnn.h>)
#include <cudnn.h>

namespace {

using Dnn = tcc::cudnn::Library;
TCC_ALIKE(Dnn::create, cudnnCreate);
TCC_ALIKE(Dnn::set_stream, cudnnSetStream);
TCC_ALIKE(Dnn::error_text, cudnnGetErrorString);
TCC_ALIKE(Dnn::make, cudnnBackendCreateDescriptor);
TCC_ALIKE(Dnn::destroy, cudnnBackendDestroyDescriptor);
TCC_ALIKE(Dnn::finalize, cudnnBackendFinalize);
TCC_ALIKE(Dnn::set, cudnnBackendSetAttribute);
TCC_ALIKE(Dnn::get, cudnnBackendGetAttribute);
TCC_ALIKE(Dnn::execute, cudnnBackendExecute);
TCC_ALIKE(Dnn::make_tensor, cudnnCreateTensorDescriptor);
TCC_ALIKE(Dnn::destroy_tensor, cudnnDestroyTensorDescriptor);
TCC_ALIKE(Dnn::set_tensor, cudnnSetTensorNdDescriptor);
TCC_ALIKE(Dnn::make_pooling, cudnnCreatePoolingDescriptor);
TCC_ALIKE(Dnn::destroy_pooling, cudnnDestroyPoolingDescriptor);
TCC_ALIKE(Dnn::set_pooling, cudnnSetPooling2dDescriptor);
TCC_ALIKE(Dnn::make_reduction, cudnnCreateReduceTensorDescriptor);
TCC_ALIKE(Dnn::destroy_reduction, cudnnDestroyReduceTensorDescriptor);
TCC_ALIKE(Dnn::set_reduction, cudnnSetReduceTensorDescriptor);
TCC_ALIKE(Dnn::pool, cudnnPoolingForward);
TCC_ALIKE(Dnn::softmax, cudnnSoftmaxForward);
TCC_ALIKE(Dnn::reduction_workspace, cudnnGetReductionWorkspaceSize);
TCC_ALIKE(Dnn::reduce, cudnnReduceTensor);

#define TCC_SAME(ours, theirs) static_assert(Same(tcc::cudnn::ours, theirs))
TCC_SAME(kFloat, CUDNN_DATA_FLOAT);
TCC_SAME(kHalf, CUDNN_DATA_HALF);
TCC_SAME(kBfloat16, CUDNN_DATA_BFLOAT16);
TCC_SAME(kCrossCorrelation, CUDNN_CROSS_CORRELATION);
TCC_SAME(kAdd, CUDNN_POINTWISE_ADD);
TCC_SAME(kReluForward, CUDNN_POINTWISE_RELU_FWD);
TCC_SAME(kLayerNorm, CUDNN_LAYER_NORM);
TCC_SAME(kNormInference, CUDNN_NORM_FWD_INFERENCE);
TCC_SAME(kMaxDims, CUDNN_DIM_MAX);
TCC_SAME(kAverageOfInside, CUDNN_POOLING_AVERAGE_COUNT_EXCLUDE_PADDING);
TCC_SAME(kSoftmaxAccurate, CUDNN_SOFTMAX_ACCURATE);
TCC_SAME(kInstance, CUDNN_SOFTMAX_MODE_INSTANCE);
TCC_SAME(kChannel, CUDNN_SOFTMAX_MODE_CHANNEL);
TCC_SAME(kReduceAdd, CUDNN_REDUCE_TENSOR_ADD);
TCC_SAME(kPropagateNan, CUDNN_PROPAGATE_NAN);
TCC_SAME(kNoIndices, CUDNN_REDUCE_TENSOR_NO_INDICES);
TCC_SAME(kIndices32, CUDNN_32BIT_INDICES);
TCC_SAME(kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
TCC_SAME(kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
TCC_SAME(kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
TCC_SAME(kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
TCC_SAME(kEngineHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
TCC_SAME(kExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
TCC_SAME(kOperationConvolutionForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
TCC_SAME(kOperationPointwise, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
TCC_SAME(kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
TCC_SAME(kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
TCC_SAME(kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
TCC_SAME(kOperationNormForward, CUDNN_BACKEND_OPERATION_NORM_FORWARD_DESCRIPTOR);
TCC_SAME(kTypeHandle, CUDNN_TYPE_HANDLE);
TCC_SAME(kTypeDataType, CUDNN_TYPE_DATA_TYPE);
TCC_SAME(kTypeBoolean, CUDNN_TYPE_BOOLEAN);
TCC_SAME(kTypeInt64, CUDNN_TYPE_INT64);
TCC_SAME(kTypeFloat, CUDNN_TYPE_FLOAT);
TCC_SAME(kTypePointer, CUDNN_TYPE_VOID_PTR);
TCC_SAME(kTypeConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
TCC_SAME(kTypeHeuristicMode, CUDNN_TYPE_HEUR_MODE);
TCC_SAME(kTypeNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE);
TCC_SAME(kTypePointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
TCC_SAME(kTypeDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
TCC_SAME(kTypeNormMode, CUDNN_TYPE_NORM_MODE);
TCC_SAME(kTypeNormPhase, CUDNN_TYPE_NORM_FWD_PHASE);
TCC_SAME(kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
TCC_SAME(kPointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
TCC_SAME(kConvolutionPrecision, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
TCC_SAME(kConvolutionMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
TCC_SAME(kConvolutionDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
TCC_SAME(kConvolutionStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
TCC_SAME(kConvolutionPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
TCC_SAME(kConvolutionPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
TCC_SAME(kConvolutionSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
TCC_SAME(kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE);
TCC_SAME(kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
TCC_SAME(kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
TCC_SAME(kConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
TCC_SAME(kPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
TCC_SAME(kPlanWorkspaceBytes, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
TCC_SAME(kForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
TCC_SAME(kForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
TCC_SAME(kForwardConvolution, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
TCC_SAME(kForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
TCC_SAME(kForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
TCC_SAME(kForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
TCC_SAME(kPointwiseDescriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
TCC_SAME(kPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
TCC_SAME(kPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
TCC_SAME(kPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
TCC_SAME(kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
TCC_SAME(kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
TCC_SAME(kTensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE);
TCC_SAME(kTensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
TCC_SAME(kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
TCC_SAME(kTensorId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
TCC_SAME(kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
TCC_SAME(kTensorIsByValue, CUDNN_ATTR_TENSOR_IS_BY_VALUE);
TCC_SAME(kPackIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
TCC_SAME(kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
TCC_SAME(kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
TCC_SAME(kEngineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
TCC_SAME(kEngineNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
TCC_SAME(kNormMode, CUDNN_ATTR_OPERATION_NORM_FWD_MODE);
TCC_SAME(kNormPhase, CUDNN_ATTR_OPERATION_NORM_FWD_PHASE);
TCC_SAME(kNormX, CUDNN_ATTR_OPERATION_NORM_FWD_XDESC);
TCC_SAME(kNormScale, CUDNN_ATTR_OPERATION_NORM_FWD_SCALE_DESC);
TCC_SAME(kNormBias, CUDNN_ATTR_OPERATION_NORM_FWD_BIAS_DESC);
TCC_SAME(kNormEpsilon, CUDNN_ATTR_OPERATION_NORM_FWD_EPSILON_DESC);
TCC_SAME(kNormY, CUDNN_ATTR_OPERATION_NORM_FWD_YDESC);
TCC_SAME(kModeA, CUDNN_HEUR_MODE_A);
TCC_SAME(kModeB, CUDNN_HEUR_MODE_B);
TCC_SAME(kModeFallback, CUDNN_HEUR_MODE_FALLBACK);
TCC_SAME(kTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
TCC_SAME(kDownConvertInputs, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
TCC_SAME(kReducedPrecisionReduction, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
TCC_SAME(kFft, CUDNN_NUMERICAL_NOTE_FFT);
TCC_SAME(kWinograd, CUDNN_NUMERICAL_NOTE_WINOGRAD);
TCC_SAME(kWinograd4x4, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4);
TCC_SAME(kWinograd6x6, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6);
TCC_SAME(kWinograd13x13, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13);
static_assert(tcc::cudnn::kNoteCount >= CUDNN_NUMERICAL_NOTE_TYPE_COUNT);

}  // namespace
#endif

#if __has_include(<cupti_range_profiler.h>) && __has_include(<cupti_profiler_host.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>

namespace {

using Profiler = tcc::cupti::ProfilerLibrary;
TCC_ALIKE(Profiler::initialize, cuptiProfilerInitialize);
TCC_ALIKE(Profiler::deinitialize, cuptiProfilerDeInitialize);
TCC_ALIKE(Profiler::chip_name, cuptiDeviceGetChipName);
TCC_ALIKE(Profiler::host_initialize, cuptiProfilerHostInitialize);
TCC_ALIKE(Profiler::host_deinitialize, cuptiProfilerHostDeinitialize);
TCC_ALIKE(Profiler::host_add_metrics, cuptiProfilerHostConfigAddMetrics);
TCC_ALIKE(Profiler::host_config_size, cuptiProfilerHostGetConfigImageSize);
TCC_ALIKE(Profiler::host_config, cuptiProfilerHostGetConfigImage);
TCC_ALIKE(Profiler::host_evaluate, cuptiProfilerHostEvaluateToGpuValues);
TCC_ALIKE(Profiler::enable, cuptiRangeProfilerEnable);
TCC_ALIKE(Profiler::disable, cuptiRangeProfilerDisable);
TCC_ALIKE(Profiler::data_size, cuptiRangeProfilerGetCounterDataSize);
TCC_ALIKE(Profiler::data_initialize, cuptiRangeProfilerCounterDataImageInitialize);
TCC_ALIKE(Profiler::set_config, cuptiRangeProfilerSetConfig);
TCC_ALIKE(Profiler::start, cuptiRangeProfilerStart);
TCC_ALIKE(Profiler::stop, cuptiRangeProfilerStop);
TCC_ALIKE(Profiler::decode, cuptiRangeProfilerDecodeData);
TCC_ALIKE(Profiler::data_info, cuptiRangeProfilerGetCounterDataInfo);

// A field and where it ends, which for the last one is the size that a caller gives. Newer versions
// append fields (13.5 does to two of them) and take the old sizes.
#define TCC_FIELD(ours, field, theirs, their_field)                                   \
  static_assert(offsetof(tcc::cupti::ours, field) == offsetof(theirs, their_field) && \
                sizeof(tcc::cupti::ours::field) == sizeof(theirs::their_field))
#define TCC_STRUCT(ours, last, theirs, their_last)                                   \
  TCC_FIELD(ours, bytes, theirs, structSize);                                        \
  TCC_FIELD(ours, reserved, theirs, pPriv);                                          \
  TCC_FIELD(ours, last, theirs, their_last);                                         \
  static_assert(offsetof(tcc::cupti::ours, last) + sizeof(tcc::cupti::ours::last) <= \
                theirs##_STRUCT_SIZE)

TCC_STRUCT(PlainParams, reserved, CUpti_Profiler_Initialize_Params, pPriv);
TCC_STRUCT(PlainParams, reserved, CUpti_Profiler_DeInitialize_Params, pPriv);
TCC_STRUCT(ChipNameParams, name, CUpti_Device_GetChipName_Params, pChipName);
TCC_FIELD(ChipNameParams, device, CUpti_Device_GetChipName_Params, deviceIndex);
TCC_STRUCT(HostInitializeParams, host, CUpti_Profiler_Host_Initialize_Params, pHostObject);
TCC_FIELD(HostInitializeParams, profiler, CUpti_Profiler_Host_Initialize_Params, profilerType);
TCC_FIELD(HostInitializeParams, chip, CUpti_Profiler_Host_Initialize_Params, pChipName);
TCC_FIELD(HostInitializeParams, availability, CUpti_Profiler_Host_Initialize_Params,
          pCounterAvailabilityImage);
TCC_STRUCT(HostParams, host, CUpti_Profiler_Host_Deinitialize_Params, pHostObject);
TCC_STRUCT(AddMetricsParams, count, CUpti_Profiler_Host_ConfigAddMetrics_Params, numMetrics);
TCC_FIELD(AddMetricsParams, host, CUpti_Profiler_Host_ConfigAddMetrics_Params, pHostObject);
TCC_FIELD(AddMetricsParams, names, CUpti_Profiler_Host_ConfigAddMetrics_Params, ppMetricNames);
TCC_STRUCT(ConfigSizeParams, config_bytes, CUpti_Profiler_Host_GetConfigImageSize_Params,
           configImageSize);
TCC_FIELD(ConfigSizeParams, host, CUpti_Profiler_Host_GetConfigImageSize_Params, pHostObject);
TCC_STRUCT(ConfigParams, config, CUpti_Profiler_Host_GetConfigImage_Params, pConfigImage);
TCC_FIELD(ConfigParams, host, CUpti_Profiler_Host_GetConfigImage_Params, pHostObject);
TCC_FIELD(ConfigParams, config_bytes, CUpti_Profiler_Host_GetConfigImage_Params, configImageSize);
TCC_STRUCT(EvaluateParams, values, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pMetricValues);
TCC_FIELD(EvaluateParams, host, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pHostObject);
TCC_FIELD(EvaluateParams, data, CUpti_Profiler_Host_EvaluateToGpuValues_Params, pCounterDataImage);
TCC_FIELD(EvaluateParams, data_bytes, CUpti_Profiler_Host_EvaluateToGpuValues_Params,
          counterDataImageSize);
TCC_FIELD(EvaluateParams, range, CUpti_Profiler_Host_EvaluateToGpuValues_Params, rangeIndex);
TCC_FIELD(EvaluateParams, names, CUpti_Profiler_Host_EvaluateToGpuValues_Params, ppMetricNames);
TCC_FIELD(EvaluateParams, count, CUpti_Profiler_Host_EvaluateToGpuValues_Params, numMetrics);
TCC_STRUCT(EnableParams, profiler, CUpti_RangeProfiler_Enable_Params, pRangeProfilerObject);
TCC_FIELD(EnableParams, context, CUpti_RangeProfiler_Enable_Params, ctx);
TCC_STRUCT(ProfilerParams, profiler, CUpti_RangeProfiler_Disable_Params, pRangeProfilerObject);
TCC_STRUCT(ProfilerParams, profiler, CUpti_RangeProfiler_Start_Params, pRangeProfilerObject);
TCC_STRUCT(DataSizeParams, data_bytes, CUpti_RangeProfiler_GetCounterDataSize_Params,
           counterDataSize);
TCC_FIELD(DataSizeParams, profiler, CUpti_RangeProfiler_GetCounterDataSize_Params,
          pRangeProfilerObject);
TCC_FIELD(DataSizeParams, names, CUpti_RangeProfiler_GetCounterDataSize_Params, pMetricNames);
TCC_FIELD(DataSizeParams, count, CUpti_RangeProfiler_GetCounterDataSize_Params, numMetrics);
TCC_FIELD(DataSizeParams, most_ranges, CUpti_RangeProfiler_GetCounterDataSize_Params,
          maxNumOfRanges);
TCC_FIELD(DataSizeParams, most_nodes, CUpti_RangeProfiler_GetCounterDataSize_Params,
          maxNumRangeTreeNodes);
TCC_STRUCT(DataInitializeParams, data, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
           pCounterData);
TCC_FIELD(DataInitializeParams, profiler, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
          pRangeProfilerObject);
TCC_FIELD(DataInitializeParams, data_bytes, CUpti_RangeProfiler_CounterDataImage_Initialize_Params,
          counterDataSize);
TCC_STRUCT(SetConfigParams, target_nesting_level, CUpti_RangeProfiler_SetConfig_Params,
           targetNestingLevel);
TCC_FIELD(SetConfigParams, profiler, CUpti_RangeProfiler_SetConfig_Params, pRangeProfilerObject);
TCC_FIELD(SetConfigParams, config_bytes, CUpti_RangeProfiler_SetConfig_Params, configSize);
TCC_FIELD(SetConfigParams, config, CUpti_RangeProfiler_SetConfig_Params, pConfig);
TCC_FIELD(SetConfigParams, data_bytes, CUpti_RangeProfiler_SetConfig_Params, counterDataImageSize);
TCC_FIELD(SetConfigParams, data, CUpti_RangeProfiler_SetConfig_Params, pCounterDataImage);
TCC_FIELD(SetConfigParams, range, CUpti_RangeProfiler_SetConfig_Params, range);
TCC_FIELD(SetConfigParams, replay, CUpti_RangeProfiler_SetConfig_Params, replayMode);
TCC_FIELD(SetConfigParams, most_ranges, CUpti_RangeProfiler_SetConfig_Params, maxRangesPerPass);
TCC_FIELD(SetConfigParams, nesting_levels, CUpti_RangeProfiler_SetConfig_Params, numNestingLevels);
TCC_FIELD(SetConfigParams, least_nesting_level, CUpti_RangeProfiler_SetConfig_Params,
          minNestingLevel);
TCC_FIELD(SetConfigParams, pass, CUpti_RangeProfiler_SetConfig_Params, passIndex);
TCC_STRUCT(StopParams, all_passes_submitted, CUpti_RangeProfiler_Stop_Params, isAllPassSubmitted);
TCC_FIELD(StopParams, profiler, CUpti_RangeProfiler_Stop_Params, pRangeProfilerObject);
TCC_STRUCT(DecodeParams, dropped, CUpti_RangeProfiler_DecodeData_Params, numOfRangeDropped);
TCC_FIELD(DecodeParams, profiler, CUpti_RangeProfiler_DecodeData_Params, pRangeProfilerObject);
TCC_STRUCT(DataInfoParams, ranges, CUpti_RangeProfiler_GetCounterDataInfo_Params, numTotalRanges);
TCC_FIELD(DataInfoParams, data, CUpti_RangeProfiler_GetCounterDataInfo_Params, pCounterDataImage);
TCC_FIELD(DataInfoParams, data_bytes, CUpti_RangeProfiler_GetCounterDataInfo_Params,
          counterDataImageSize);
static_assert(Same(tcc::cupti::kRangeProfiler, CUPTI_PROFILER_TYPE_RANGE_PROFILER));
static_assert(Same(tcc::cupti::kAutoRange, CUPTI_AutoRange));
static_assert(Same(tcc::cupti::kKernelReplay, CUPTI_KernelReplay));
static_assert(Same(tcc::cupti::kInsufficientPrivileges, CUPTI_ERROR_INSUFFICIENT_PRIVILEGES));
static_assert(Same(tcc::cupti::kVirtualInsufficientPrivileges,
                   CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES));

}  // namespace
#endif

#if __has_include(<cupti_activity.h>)
#include <cupti.h>

namespace {

using Cupti = tcc::cupti::Library;
TCC_ALIKE(Cupti::register_callbacks, cuptiActivityRegisterCallbacks);
TCC_ALIKE(Cupti::enable, cuptiActivityEnable);
TCC_ALIKE(Cupti::disable, cuptiActivityDisable);
TCC_ALIKE(Cupti::flush_all, cuptiActivityFlushAll);
TCC_ALIKE(Cupti::next_record, cuptiActivityGetNextRecord);
TCC_ALIKE(Cupti::result_string, cuptiGetResultString);
static_assert(Alike<tcc::cupti::BufferRequested, CUpti_BuffersCallbackRequestFunc>::value);
static_assert(Alike<tcc::cupti::BufferCompleted, CUpti_BuffersCallbackCompleteFunc>::value);
static_assert(Same(tcc::cupti::kConcurrentKernel, CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
static_assert(Same(tcc::cupti::kFlushForced, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
static_assert(Same(tcc::cupti::kMaxLimitReached, CUPTI_ERROR_MAX_LIMIT_REACHED));
using Record = tcc::cupti::KernelRecord;
static_assert(offsetof(Record, start) == offsetof(CUpti_ActivityKernel9, start));
static_assert(offsetof(Record, end) == offsetof(CUpti_ActivityKernel9, end));
static_assert(offsetof(Record, name) == offsetof(CUpti_ActivityKernel9, name));
static_assert(offsetof(Record, name) == offsetof(CUpti_ActivityKernel4, name));

}  // namespace
#endif

TEST_CASE("our declarations of cuBLAS, cuBLASLt, cuDNN and CUPTI are those of their headers",
          "[bench]") {
  // They are compared when this file is compiled.
  std::vector<std::string> compared;
#if __has_include(<cublas_v2.h>) && __has_include(<cublasLt.h>)
  compared.emplace_back("cuBLAS");
#else
  std::cout << "skipped: no headers of cuBLAS\n";
#endif
#if __has_include(<cudnn.h>)
  compared.emplace_back("cuDNN");
#else
  std::cout << "skipped: no headers of cuDNN\n";
#endif
#if __has_include(<cupti_activity.h>)
  compared.emplace_back("CUPTI");
#else
  std::cout << "skipped: no headers of CUPTI\n";
#endif
#if __has_include(<cupti_range_profiler.h>) && __has_include(<cupti_profiler_host.h>)
  compared.emplace_back("CUPTI's range profiler");
#else
  std::cout << "skipped: no headers of CUPTI's range profiler\n";
#endif
  for (const std::string& library : compared) std::cout << "held: " << library << "\n";
}
