#include "compiler/session.h"

#include "api/compile_request.h"
#include "api/module_state.h"

// The embedding API's sessions.
namespace tcc::v1 {

struct Session::State {
  explicit State(const CompileOptions& given) : options(given), reporter(options) {}

  CompileOptions options;  // whose hooks the reporter calls
  Reporter reporter;
  std::unique_ptr<tcc::Session> session;
  std::vector<TensorInfo> inputs;
};

namespace {

OwnedTensor ToApi(const tcc::TensorInfo& info, tcc::Tensor tensor) {
  OwnedTensor owned;
  owned.name = info.name;
  owned.dtype = static_cast<DType>(tensor.dtype.code());
  owned.shape = std::move(tensor.shape);
  owned.bytes = tensor.bytes.size();
  // The executor has made the memory for this caller.
  owned.data = std::const_pointer_cast<void>(std::shared_ptr<const void>(
      std::move(tensor.owner), static_cast<const void*>(tensor.bytes.data())));
  return owned;
}

StatusOr<std::vector<OwnedTensor>> RunSession(tcc::Session& session,
                                              std::span<const Input> inputs) {
  const Metadata& signature = session.signature();
  TCC_ASSIGN_OR_RETURN(std::vector<tcc::Tensor> in, ArrangeViews(signature, inputs));
  TCC_ASSIGN_OR_RETURN(std::vector<tcc::Tensor> out, session.Run(in));
  std::vector<OwnedTensor> outputs;
  for (size_t i = 0; i < out.size(); ++i) {
    outputs.push_back(ToApi(signature.outputs[i], std::move(out[i])));
  }
  return outputs;
}

}  // namespace

Result<Session> Session::Open(const std::string& path, const CompileOptions& options,
                              const LoadOptions& load, SessionSizes sizes) {
  return WithinMemory([&]() -> Result<Session> {
    if (!options.at.empty()) {
      return tcc::ToApi(UsageError(
          "a session compiles for the sizes that it meets; expected none (CompileOptions::at)"));
    }
    auto state = std::make_shared<State>(options);
    state->options.binds.clear();  // the caller's memory, which is copied here
    StatusOr<CompileSettings> settings = SettingsOf(options, state->reporter);
    if (!settings.ok()) return tcc::ToApi(settings.status());
    SessionOptions open;
    open.import = std::move(settings->import);
    open.compile = std::move(settings->options);
    open.compile.note = [reporter = &state->reporter](const std::string& message) {
      reporter->Log(LogLevel::kInfo, message);
    };
    open.load = Module::Access::Options(load);
    open.sizes = sizes == SessionSizes::kEach ? tcc::SessionSizes::kEach : tcc::SessionSizes::kAny;
    open.cache = ArtefactCache::OfUser();
    StatusOr<std::unique_ptr<tcc::Session>> session = tcc::Session::Open(path, std::move(open));
    if (!session.ok()) return tcc::ToApi(session.status());
    state->session = *std::move(session);
    const Metadata& signature = state->session->signature();
    for (const tcc::TensorInfo& info : signature.inputs) {
      state->inputs.push_back(tcc::ToApi(info, signature));
    }
    return Session(std::move(state));
  });
}

const std::vector<TensorInfo>& Session::inputs() const {
  return state_->inputs;
}

Result<std::vector<OwnedTensor>> Session::Run(std::span<const Input> inputs) const {
  return WithinMemory([&]() -> Result<std::vector<OwnedTensor>> {
    StatusOr<std::vector<OwnedTensor>> outputs = RunSession(*state_->session, inputs);
    if (!outputs.ok()) return tcc::ToApi(outputs.status());
    return *std::move(outputs);
  });
}

}  // namespace tcc::v1
