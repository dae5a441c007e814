#include "api/c_handles.h"
#include "api/tcc_compile_c.h"

struct tcc_stop {
  std::stop_source source;
};

struct tcc_artefact {
  tcc::v1::Artefact artefact;
  std::vector<uint8_t> bytes = {};  // the content, once it was asked for
};

struct tcc_tuned {
  explicit tcc_tuned(tcc::v1::TuneSummary&& result) : summary(std::move(result)) {
    for (const tcc::v1::TunedKernel& kernel : summary.kernels) {
      kernels.push_back({.name = kernel.name.c_str(),
                         .runs = kernel.runs,
                         .constructed_seconds = kernel.constructed_seconds,
                         .best_seconds = kernel.best_seconds,
                         .best_searcher = kernel.best_searcher.c_str(),
                         .trials = kernel.trials,
                         .problem = kernel.problem.c_str()});
    }
  }

  tcc::v1::TuneSummary summary;
  std::vector<tcc_tuned_kernel> kernels;  // whose texts are the summary's
};

// The C API's functions that compile and tune.
namespace tcc {
namespace {

v1::TuneOptions TuneOptionsOf(const tcc_options* options) {
  if (options == nullptr) return {};
  v1::TuneOptions tune = options->tune;
  for (const auto& [name, tensor] : options->binds) {
    tune.compile.binds.push_back({name, static_cast<v1::DType>(tensor.dtype.code()),
                                  tensor.bytes.data(), tensor.bytes.size(), tensor.shape});
  }
  return tune;
}

v1::Status NoPath() {
  return {v1::Code::kUsage, "expected a path, got null"};
}

std::span<const uint8_t> ContentOf(const void* data, uint64_t bytes) {
  return {static_cast<const uint8_t*>(data), data == nullptr ? 0 : bytes};
}

Status Bind(tcc_options& options, const tcc_tensor* given) {
  if (given == nullptr) return UsageError("expected a tensor to bind, got null");
  const tcc_tensor& tensor = *given;
  if (tensor.name == nullptr || *tensor.name == 0) {
    return UsageError("a tensor to bind has no name; expected an input's");
  }
  const std::string name = fmt::format("bound input '{}'", tensor.name);
  if (std::optional<std::string> fault = FaultOf(tensor)) {
    return InvalidInput("{} {}", name, *fault);
  }
  Tensor view{*ToDType(static_cast<v1::DType>(tensor.dtype)),
              {},
              nullptr,
              ContentOf(tensor.data, tensor.bytes)};
  if (tensor.rank > 0) view.shape.assign(tensor.shape, tensor.shape + tensor.rank);
  if (options.binds.emplace(tensor.name, std::move(view)).second) return OkStatus();
  return UsageError("input '{}' is bound twice", tensor.name);
}

}  // namespace
}  // namespace tcc

tcc_code tcc_options_bind(tcc_options* options, const tcc_tensor* tensor, tcc_error** error) {
  return tcc::ReportCall(error, [&] { return tcc::ToApi(tcc::Bind(*options, tensor)); });
}

void tcc_options_on_progress(tcc_options* options,
                             void (*progress)(void* user, const char* stage, int64_t done,
                                              int64_t total),
                             void* user) {
  options->tune.compile.progress = nullptr;
  if (progress == nullptr) return;
  options->tune.compile.progress = [progress, user](const tcc::v1::Progress& now) {
    progress(user, std::string(now.stage).c_str(), now.done, now.total);
  };
}

void tcc_options_on_log(tcc_options* options,
                        void (*log)(void* user, int32_t warning, const char* message), void* user) {
  options->tune.compile.logger = nullptr;
  if (log == nullptr) return;
  options->tune.compile.logger = [log, user](tcc::v1::LogLevel level, std::string_view message) {
    log(user, level == tcc::v1::LogLevel::kWarning ? 1 : 0, std::string(message).c_str());
  };
}

void tcc_options_on_trial(tcc_options* options, void (*trial)(void* user, const tcc_trial* trial),
                          void* user) {
  options->tune.progress = nullptr;
  if (trial == nullptr) return;
  options->tune.progress = [trial, user](const tcc::v1::TuneProgress& now) {
    const std::string kernel(now.kernel), searcher(now.searcher), status(now.status);
    const tcc_trial told = {.seconds = now.seconds,
                            .trials = now.trials,
                            .kernel = kernel.c_str(),
                            .searcher = searcher.c_str(),
                            .status = status.c_str(),
                            .best_seconds = now.best_seconds,
                            .constructed_seconds = now.constructed_seconds};
    trial(user, &told);
  };
}

tcc_stop* tcc_stop_new(void) {
  tcc_stop* stop = nullptr;
  tcc::ReportCall(nullptr, [&]() -> tcc::v1::Status {
    stop = new tcc_stop;
    return {};
  });
  return stop;
}

void tcc_stop_request(tcc_stop* stop) {
  stop->source.request_stop();
}

void tcc_stop_free(tcc_stop* stop) {
  delete stop;
}

void tcc_options_stop(tcc_options* options, const tcc_stop* stop) {
  options->tune.compile.cancellation =
      stop == nullptr ? std::stop_token() : stop->source.get_token();
}

tcc_code tcc_compile(const char* path, const tcc_options* options, tcc_artefact** artefact,
                     tcc_error** error) {
  return tcc::ReportHandle(artefact, error, [&]() -> tcc::v1::Result<tcc::v1::Artefact> {
    if (path == nullptr) return tcc::NoPath();
    return tcc::v1::Compile(path, tcc::TuneOptionsOf(options).compile);
  });
}

tcc_code tcc_compile_bytes(const void* model, uint64_t bytes, const tcc_options* options,
                           tcc_artefact** artefact, tcc_error** error) {
  return tcc::ReportHandle(artefact, error, [&] {
    return tcc::v1::Compile(tcc::ContentOf(model, bytes), tcc::TuneOptionsOf(options).compile);
  });
}

tcc_code tcc_artefact_save(const tcc_artefact* artefact, const char* path, tcc_error** error) {
  return tcc::ReportCall(
      error, [&] { return path == nullptr ? tcc::NoPath() : artefact->artefact.Save(path); });
}

tcc_code tcc_artefact_bytes(tcc_artefact* artefact, const void** data, uint64_t* bytes,
                            tcc_error** error) {
  return tcc::ReportCall(error, [&]() -> tcc::v1::Status {
    if (auto status = tcc::ExpectPlaces({static_cast<const void*>(data), bytes}); !status.ok())
      return status;
    if (artefact->bytes.empty()) artefact->bytes = artefact->artefact.Bytes();
    *data = artefact->bytes.data();
    *bytes = artefact->bytes.size();
    return {};
  });
}

void tcc_artefact_free(tcc_artefact* artefact) {
  delete artefact;
}

tcc_code tcc_module_load_artefact(const tcc_artefact* artefact, const tcc_options* options,
                                  tcc_module** module, tcc_error** error) {
  return tcc::ReportHandle(module, error, [&] {
    return tcc::v1::Module::Load(artefact->artefact, tcc::LoadOptionsOf(options));
  });
}

tcc_code tcc_tune(const char* path, const tcc_options* options, tcc_tuned** tuned,
                  tcc_error** error) {
  return tcc::ReportHandle(tuned, error, [&]() -> tcc::v1::Result<tcc::v1::TuneSummary> {
    if (path == nullptr) return tcc::NoPath();
    return tcc::v1::Tune(path, tcc::TuneOptionsOf(options));
  });
}

tcc_code tcc_tune_bytes(const void* model, uint64_t bytes, const tcc_options* options,
                        tcc_tuned** tuned, tcc_error** error) {
  return tcc::ReportHandle(tuned, error, [&] {
    return tcc::v1::Tune(tcc::ContentOf(model, bytes), tcc::TuneOptionsOf(options));
  });
}

uint32_t tcc_tuned_count(const tcc_tuned* tuned) {
  return static_cast<uint32_t>(tuned->kernels.size());
}

const tcc_tuned_kernel* tcc_tuned_at(const tcc_tuned* tuned, uint32_t index) {
  return index < tuned->kernels.size() ? &tuned->kernels[index] : nullptr;
}

int64_t tcc_tuned_trials(const tcc_tuned* tuned, const char* status) {
  if (status == nullptr) return tuned->summary.trials;
  for (const auto& [name, count] : tuned->summary.statuses) {
    if (name == status) return count;
  }
  return 0;
}

void tcc_tuned_model(const tcc_tuned* tuned, double* constructed_seconds, double* best_seconds) {
  *constructed_seconds = tuned->summary.model_constructed_seconds;
  *best_seconds = tuned->summary.model_best_seconds;
}

void tcc_tuned_free(tcc_tuned* tuned) {
  delete tuned;
}
