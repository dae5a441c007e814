#include "api/c_options.h"

// The C API's options in libtcc_runtime, which only loads.
namespace tcc {
namespace {

Status SetThreads(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(options.load.threads, ParseInt(key, value));
  return OkStatus();
}

Status SetDevice(tcc_options& options, const std::string& key, const std::string& value) {
  TCC_ASSIGN_OR_RETURN(options.load.device, ParseInt(key, value));
  return OkStatus();
}

constexpr OptionRow kOptions[] = {
    {"threads", SetThreads}, {"map-weights", SetMapWeights}, {"device", SetDevice}};

}  // namespace

std::span<const OptionRow> EmbeddedOptions() {
  return kOptions;
}

}  // namespace tcc
