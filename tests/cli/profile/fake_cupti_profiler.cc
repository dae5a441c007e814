// CUPTI's range profiler and its host interface as far as runtime/cupti/cupti_profiler_api.h goes.
// It counts no kernel: it has as many launches as TCC_FAKE_LAUNCHES says, and of number i metric m
// is 10 * i + m. It expects what the real one does: calls in order, sizes of structs up to their
// last field, room for the ranges. The metric whose number is TCC_FAKE_NOTHING is NaN for every
// second launch. TCC_FAKE_CUPTI_FAILS names a function and its result, "cuptiRangeProfilerEnable
// 35".

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "runtime/cupti/cupti_profiler_api.h"

namespace {

using namespace tcc::cupti;

constexpr int kInvalid = 1;
constexpr size_t kConfigBytes = 24;

enum class Stage { kClosed, kOpen, kEnabled, kConfigured, kRunning, kStopped, kDecoded };
Stage stage = Stage::kClosed;
bool initialized = false, made_host = false;
int host_object = 0, profiler_object = 0;
std::vector<std::string> metrics;
size_t most_ranges = 0;

size_t Launches() {
  const char* text = std::getenv("TCC_FAKE_LAUNCHES");
  return text == nullptr ? 0 : static_cast<size_t>(std::atoi(text));
}

bool IsNothing(size_t metric) {
  const char* text = std::getenv("TCC_FAKE_NOTHING");
  return text != nullptr && static_cast<size_t>(std::atoi(text)) == metric;
}

// The result that a function is to have; 0 where the struct and all else is right.
template <typename Params>
int ResultOf(const char* name, const Params* params, size_t bytes, bool right) {
  const char* text = std::getenv("TCC_FAKE_CUPTI_FAILS");
  std::string fails = text == nullptr ? "" : text;
  if (fails.starts_with(std::string(name) + " ")) return std::stoi(fails.substr(fails.find(' ')));
  return params->bytes == bytes && params->reserved == nullptr && right ? 0 : kInvalid;
}

bool SameMetrics(const char** names, size_t count) {
  return std::vector<std::string>(names, names + count) == metrics;
}

#define TCC_RESULT(name, type, last, right) \
  ResultOf(name, params, offsetof(type, last) + sizeof(type::last), right)

}  // namespace

extern "C" {

int cuptiProfilerInitialize(PlainParams* params) {
  int result = TCC_RESULT("cuptiProfilerInitialize", PlainParams, reserved, !initialized);
  initialized = initialized || result == 0;
  return result;
}
int cuptiProfilerDeInitialize(PlainParams* params) {
  bool all_given_back = initialized && !made_host && stage == Stage::kClosed;
  initialized = false;
  return TCC_RESULT("cuptiProfilerDeInitialize", PlainParams, reserved, all_given_back);
}
int cuptiDeviceGetChipName(ChipNameParams* params) {
  params->name = "GA102";
  return TCC_RESULT("cuptiDeviceGetChipName", ChipNameParams, name, initialized);
}
int cuptiProfilerHostInitialize(HostInitializeParams* params) {
  bool right = params->profiler == kRangeProfiler && std::strcmp(params->chip, "GA102") == 0;
  int result = TCC_RESULT("cuptiProfilerHostInitialize", HostInitializeParams, host, right);
  made_host = result == 0;
  params->host = &host_object;
  return result;
}
int cuptiProfilerHostDeinitialize(HostParams* params) {
  made_host = false;
  return TCC_RESULT("cuptiProfilerHostDeinitialize", HostParams, host,
                    params->host == &host_object);
}
int cuptiProfilerHostConfigAddMetrics(AddMetricsParams* params) {
  metrics.assign(params->names, params->names + params->count);
  return TCC_RESULT("cuptiProfilerHostConfigAddMetrics", AddMetricsParams, count, made_host);
}
int cuptiProfilerHostGetConfigImageSize(ConfigSizeParams* params) {
  params->config_bytes = kConfigBytes;
  return TCC_RESULT("cuptiProfilerHostGetConfigImageSize", ConfigSizeParams, config_bytes,
                    !metrics.empty());
}
int cuptiProfilerHostGetConfigImage(ConfigParams* params) {
  bool right = params->config_bytes == kConfigBytes;
  if (right) std::memset(params->config, 7, kConfigBytes);
  return TCC_RESULT("cuptiProfilerHostGetConfigImage", ConfigParams, config, right);
}
int cuptiRangeProfilerEnable(EnableParams* params) {
  bool right = initialized && stage == Stage::kClosed && params->context != nullptr;
  int result = TCC_RESULT("cuptiRangeProfilerEnable", EnableParams, profiler, right);
  if (result == 0) stage = Stage::kEnabled;
  params->profiler = &profiler_object;
  return result;
}
int cuptiRangeProfilerDisable(ProfilerParams* params) {
  stage = Stage::kClosed;
  return TCC_RESULT("cuptiRangeProfilerDisable", ProfilerParams, profiler,
                    params->profiler == &profiler_object);
}
int cuptiRangeProfilerGetCounterDataSize(DataSizeParams* params) {
  bool right = SameMetrics(params->names, params->count) && params->most_ranges > 0 &&
               params->most_nodes >= params->most_ranges;
  params->data_bytes = 8 * params->most_ranges;
  return TCC_RESULT("cuptiRangeProfilerGetCounterDataSize", DataSizeParams, data_bytes, right);
}
int cuptiRangeProfilerCounterDataImageInitialize(DataInitializeParams* params) {
  std::memset(params->data, 0, params->data_bytes);
  return TCC_RESULT("cuptiRangeProfilerCounterDataImageInitialize", DataInitializeParams, data,
                    stage == Stage::kEnabled);
}
int cuptiRangeProfilerSetConfig(SetConfigParams* params) {
  bool right = stage == Stage::kEnabled && params->range == kAutoRange &&
               params->replay == kKernelReplay && params->nesting_levels == 1 &&
               params->least_nesting_level == 1 && params->config_bytes == kConfigBytes &&
               params->config[0] == 7 && params->data_bytes == 8 * params->most_ranges;
  most_ranges = params->most_ranges;
  stage = Stage::kConfigured;
  return TCC_RESULT("cuptiRangeProfilerSetConfig", SetConfigParams, target_nesting_level, right);
}
int cuptiRangeProfilerStart(ProfilerParams* params) {
  bool right = stage == Stage::kConfigured;
  stage = Stage::kRunning;
  return TCC_RESULT("cuptiRangeProfilerStart", ProfilerParams, profiler, right);
}
int cuptiRangeProfilerStop(StopParams* params) {
  bool right = stage == Stage::kRunning;
  stage = Stage::kStopped;
  params->all_passes_submitted = 1;
  return TCC_RESULT("cuptiRangeProfilerStop", StopParams, all_passes_submitted, right);
}
int cuptiRangeProfilerDecodeData(DecodeParams* params) {
  bool right = stage == Stage::kStopped;
  stage = Stage::kDecoded;
  params->dropped = Launches() - std::min(Launches(), most_ranges);
  return TCC_RESULT("cuptiRangeProfilerDecodeData", DecodeParams, dropped, right);
}
int cuptiRangeProfilerGetCounterDataInfo(DataInfoParams* params) {
  params->ranges = Launches();
  return TCC_RESULT("cuptiRangeProfilerGetCounterDataInfo", DataInfoParams, ranges,
                    stage == Stage::kDecoded);
}
int cuptiProfilerHostEvaluateToGpuValues(EvaluateParams* params) {
  for (size_t i = 0; i < params->count; ++i) {
    params->values[i] = 10 * static_cast<double>(params->range) + static_cast<double>(i);
    if (params->range % 2 == 1 && IsNothing(i)) params->values[i] = std::nan("");
  }
  return TCC_RESULT("cuptiProfilerHostEvaluateToGpuValues", EvaluateParams, values,
                    SameMetrics(params->names, params->count) && params->range < Launches());
}

}  // extern "C"
