#include "compiler/session.h"

#include <dlfcn.h>
#include <fmt/ranges.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "compiler/describe_model.h"
#include "compiler/measured_device.h"
#include "compiler/partial_evaluator.h"
#include "graph/ops/shape_operands.h"
#include "runtime/executor/binding.h"
#include "schedule/space/schedule.h"
#include "support/check.h"
#include "support/extents.h"
#include "support/stop.h"
#include "support/stopwatch.h"
#include "support/version.h"

namespace tcc {
namespace {

namespace fs = std::filesystem;

// A text of parts that no other parts have.
class KeyText {
 public:
  void Add(std::string_view part) {
    text_ += fmt::format("{}:", part.size());
    text_ += part;
  }
  template <typename T>
  void Add(const std::vector<T>& numbers) {
    Add(fmt::format("{}", fmt::join(numbers, ",")));
  }
  void Add(const Tensor& tensor) {
    Add(ToString(tensor));
    Add(ToHex(Sha256(tensor.bytes)));
  }
  Sha256Digest Digest() const { return Sha256(text_); }

 private:
  std::string text_;
};

// Returns a file's path, size and time, without reading it.
std::string FileState(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return path + " is missing";
  std::error_code ignored;
  return fmt::format("{} {} {}.{}", fs::absolute(path, ignored).string(), info.st_size,
                     info.st_mtim.tv_sec, info.st_mtim.tv_nsec);
}

// Returns the state of the library or program that this code is in.
std::string CompilerState() {
  Dl_info info{};
  bool is_library = dladdr(reinterpret_cast<const void*>(&FileState), &info) != 0 &&
                    info.dli_fname != nullptr && info.dli_fname[0] == '/';
  std::error_code ignored;
  return FileState(is_library ? info.dli_fname : fs::read_symlink("/proc/self/exe", ignored));
}

void AddOptions(const ImportOptions& import, KeyText& key) {
  for (const auto& [name, size] : import.dims) key.Add(fmt::format("dim {}={}", name, size));
  for (const auto& [name, range] : import.ranges) {
    key.Add(fmt::format("range {}={}..{}:{}", name, range.low.value_or(-1), range.high.value_or(-1),
                        range.usual.value_or(-1)));
  }
  for (const auto& [name, shape] : import.shapes) {
    key.Add("shape " + name);
    key.Add(shape);
  }
  for (const auto& [name, tensor] : import.binds) {
    key.Add("bind " + name);
    key.Add(tensor);
    key.Add(import.binds_as_declared.contains(name) ? "as declared" : "");
  }
}

void AddOptions(const CompileOptions& compile, KeyText& key) {
  TCC_CHECK(compile.sketch_rules.empty()) << "rules are code, which has no hash";
  key.Add(compile.target.name);
  if (compile.target.kind == TargetKind::kCpu) {
    Environment here = LocalEnvironment(compile.target, 1);
    key.Add(here.device);
    key.Add(here.compilers);
  }
  key.Add(RowOf(compile.numeric).name);
  key.Add(
      fmt::format("{} {} {}", compile.winograd, compile.notes, static_cast<int>(compile.gpu_code)));
  for (const auto& [kernel, schedule] : compile.schedules) {
    key.Add(kernel);
    key.Add(Print(schedule));
  }
  for (const auto& [workload, tuned] : compile.tuned) {
    key.Add(workload);
    key.Add(tuned.variant_key);
    key.Add(Print(tuned.schedule));
  }
}

// Describes the inputs, each dimension as a number or a variable, and the outputs without shapes.
// An extent of 0 may stand for an unknown one. A range holds where an option has narrowed it.
Metadata SignatureOf(const Graph& graph) {
  Metadata signature;
  signature.model = graph.name;
  auto variable = [&](const std::string& name, int64_t low, int64_t high, int64_t usual) {
    signature.shape_variables.push_back({name, low, high, usual});
    return SizeExpr::Variable(std::ssize(signature.shape_variables) - 1);
  };
  std::map<std::string, SizeExpr> named;
  for (const Var& var : graph.shape_vars) {
    const int64_t low = var->low > kMinFreeDim ? var->low : 0;
    const int64_t high = var->high < kMaxFreeDim ? var->high : kMaxExtent;
    named.emplace(var->name, variable(var->name, low, high, var->usual));
  }
  for (ValueId id : graph.inputs) {
    const Value& value = graph.value(id);
    TensorInfo info{value.name, value.dtype, {}};
    for (const Expr& dim : value.shape) {
      std::optional<int64_t> extent = AsConstant(dim);
      if (!extent) {
        info.shape.push_back(named.at(dim.as<VarNode>()->name));
      } else if (*extent == 0) {
        info.shape.push_back(
            variable(fmt::format("{}_{}", value.name, info.shape.size()), 0, kMaxExtent, 1));
      } else {
        info.shape.push_back(*extent);
      }
    }
    signature.inputs.push_back(std::move(info));
  }
  std::vector<std::string> names = OutputNames(graph);
  for (size_t i = 0; i < names.size(); ++i) {
    signature.outputs.push_back({names[i], graph.value(graph.outputs[i]).dtype, {}});
  }
  return signature;
}

// Returns, for each input, whether a node reads it or an output is it.
std::vector<bool> ReadInputs(const Graph& graph) {
  std::vector<bool> is_read(graph.values.size(), false);
  for (const Node& node : graph.nodes) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue) is_read[static_cast<size_t>(id)] = true;
    }
  }
  for (ValueId id : graph.outputs) is_read[static_cast<size_t>(id)] = true;
  std::vector<bool> inputs;
  for (ValueId id : graph.inputs) inputs.push_back(is_read[static_cast<size_t>(id)]);
  return inputs;
}

}  // namespace

// The purpose of an artefact: the values of one run's inputs that decide shapes, and its sizes or
// all of them.
struct Session::Binding {
  SessionSizes made_for;
  ImportOptions import;
  std::vector<Tensor> arguments;  // the inputs that are left
  Sha256Digest key{};
  std::string text;  // "N=2, S=128, values of shape"; "" where the model leaves nothing open
};

struct Session::Compiled {
  Compiled(const Sha256Digest& digest, Module module) : key(digest), executor(std::move(module)) {}

  Sha256Digest key;
  std::mutex running;
  Executor executor;
};

StatusOr<std::unique_ptr<Session>> Session::Open(const std::string& path, SessionOptions options) {
  std::unique_ptr<Session> session(new Session(path, std::move(options)));
  TCC_RETURN_IF_ERROR(session->Describe());
  return session;
}

Session::Session(std::string path, SessionOptions options)
    : path_(std::move(path)), options_(std::move(options)) {
  if (options_.load.pool) return;
  ThreadPoolOptions pool{.threads = options_.load.threads};
  options_.load.pool = std::make_shared<ThreadPool>(pool);
}

Status Session::Describe() {
  TCC_ASSIGN_OR_RETURN(OnnxSurvey survey, SurveyOnnx(path_));
  fs::path folder = options_.import.external_data_folder.empty()
                        ? fs::path(path_).parent_path()
                        : fs::path(options_.import.external_data_folder);
  for (const std::string& file : survey.external_files) {
    external_files_.push_back((folder / file).string());
  }
  file_states_ = FileStates();
  // Warnings come with compilations, whose sizes are known.
  ImportOptions import = options_.import;
  import.warn = {};
  import.facts_of = PartialEvaluator();
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path_, import));
  signature_ = SignatureOf(graph);
  is_read_ = ReadInputs(graph);
  std::vector<ValueId> deciding = ShapeInputs(graph);
  for (ValueId id : graph.inputs) {
    decides_shapes_.push_back(std::ranges::find(deciding, id) != deciding.end());
  }
  TCC_ASSIGN_OR_RETURN(SharedBytes model, MapFile(path_));
  KeyText key;
  key.Add(kVersion);
  key.Add(std::to_string(kArtefactVersion));
  key.Add(CompilerState());
  key.Add(ToHex(Sha256(model.bytes)));
  for (const std::string& file : external_files_) key.Add(FileState(file));
  AddOptions(options_.import, key);
  AddOptions(options_.compile, key);
  key_ = key.Digest();
  return OkStatus();
}

std::string Session::FileStates() const {
  std::string states = FileState(path_);
  for (const std::string& file : external_files_) states += "\n" + FileState(file);
  return states;
}

StatusOr<std::vector<Tensor>> Session::Run(std::span<const Tensor> inputs) {
  TCC_ASSIGN_OR_RETURN(std::vector<int64_t> sizes, CheckInputs(inputs));
  Binding own = BindingOf(inputs, sizes, SessionSizes::kEach);
  auto run = [&](Compiled& compiled) {
    std::lock_guard lock(compiled.running);
    return compiled.executor.Run(own.arguments);
  };
  if (options_.sizes == SessionSizes::kAny && !sizes.empty()) {
    Binding any = BindingOf(inputs, sizes, SessionSizes::kAny);
    TCC_ASSIGN_OR_RETURN(std::shared_ptr<Compiled> compiled, FindOrCompileAny(any, own));
    if (compiled) {
      StatusOr<std::vector<Tensor>> outputs = run(*compiled);
      if (!absl::IsInvalidArgument(outputs.status())) return outputs;
    }
  }
  TCC_ASSIGN_OR_RETURN(std::shared_ptr<Compiled> compiled, FindOrCompile(own));
  return run(*compiled);
}

// Returns the values of the signature's variables.
StatusOr<std::vector<int64_t>> Session::CheckInputs(std::span<const Tensor> inputs) const {
  if (std::ranges::count(is_read_, false) == 0 || inputs.size() != is_read_.size()) {
    return BindInputs(signature_, inputs);
  }
  // The import has made up the open sizes of what nothing reads.
  Metadata expected = signature_;
  for (size_t i = 0; i < inputs.size(); ++i) {
    TensorInfo& info = expected.inputs[i];
    if (!is_read_[i]) info = StaticTensor(info.name, info.dtype, inputs[i].shape);
  }
  return BindInputs(expected, inputs);
}

Session::Binding Session::BindingOf(std::span<const Tensor> inputs, std::span<const int64_t> sizes,
                                    SessionSizes made_for) const {
  const bool is_any = made_for == SessionSizes::kAny;
  Binding binding{.made_for = made_for, .import = options_.import, .arguments = {}, .text = ""};
  KeyText key;
  key.Add(ToHex(key_));
  std::vector<std::string> facts;
  if (is_any) {
    key.Add("any size");
    facts.emplace_back("any size");
  }
  for (size_t i = 0; i < sizes.size() && !is_any; ++i) {
    facts.push_back(fmt::format("{}={}", signature_.shape_variables[i].name, sizes[i]));
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = signature_.inputs[i].name;
    if (decides_shapes_[i] && inputs[i].bytes.size() <= kMaxBoundBytes) {
      binding.import.shapes.erase(name);
      binding.import.binds[name] = inputs[i];
      key.Add(inputs[i]);
      facts.push_back("values of " + name);
    } else {
      binding.arguments.push_back(inputs[i]);
      if (is_any) continue;
      binding.import.shapes[name] = inputs[i].shape;
      key.Add(inputs[i].shape);
    }
  }
  // The warnings of an import for all sizes tell how to fix some.
  if (is_any) binding.import.warn = {};
  binding.key = key.Digest();
  binding.text = fmt::format("{}", fmt::join(facts, ", "));
  return binding;
}

std::shared_ptr<Session::Compiled> Session::FindLoaded(const Sha256Digest& key) {
  std::lock_guard lock(mutex_);
  auto found =
      std::ranges::find_if(loaded_, [&](const auto& compiled) { return compiled->key == key; });
  if (found == loaded_.end()) return nullptr;
  std::rotate(loaded_.begin(), found, found + 1);
  return loaded_.front();
}

// Returns null where the binding needs sizes, or an artefact for them is there already while one
// for all is not.
StatusOr<std::shared_ptr<Session::Compiled>> Session::FindOrCompileAny(const Binding& any,
                                                                       const Binding& own) {
  if (std::shared_ptr<Compiled> loaded = FindLoaded(any.key)) return loaded;
  {
    std::lock_guard lock(mutex_);
    if (needs_sizes_.contains(any.key)) return nullptr;
  }
  std::error_code ignored;
  auto is_kept = [&](const Binding& binding) {
    return fs::exists(options_.cache.PathOf(binding.key), ignored);
  };
  if (is_kept(own) && !is_kept(any)) return nullptr;
  StatusOr<std::shared_ptr<Compiled>> compiled = FindOrCompile(any);
  if (compiled.ok() || absl::IsCancelled(compiled.status())) return compiled;
  if (options_.compile.note) {
    options_.compile.note("not compiled " + Message(compiled.status()));
  }
  std::lock_guard lock(mutex_);
  needs_sizes_.insert(any.key);
  return nullptr;
}

StatusOr<std::shared_ptr<Session::Compiled>> Session::FindOrCompile(const Binding& binding) {
  if (std::shared_ptr<Compiled> loaded = FindLoaded(binding.key)) return loaded;
  std::lock_guard compiling(compiling_);
  if (std::shared_ptr<Compiled> loaded = FindLoaded(binding.key)) return loaded;
  StatusOr<Module> module = LoadOrCompile(binding);
  if (!module.ok()) {
    return binding.text.empty() ? module.status()
                                : Annotate(module.status(), "with " + binding.text);
  }
  auto compiled = std::make_shared<Compiled>(binding.key, *std::move(module));
  std::lock_guard lock(mutex_);
  loaded_.insert(loaded_.begin(), compiled);
  if (loaded_.size() > kMaxModules) loaded_.pop_back();
  return compiled;
}

// Returns whether a file's artefact is one for the binding, as far as it says.
bool Session::Fits(const Module& module, const Binding& binding) const {
  const Metadata& metadata = module.metadata();
  if (module.artefact().target != options_.compile.target.name ||
      metadata.model != signature_.model || metadata.inputs.size() != binding.arguments.size()) {
    return false;
  }
  // One for all sizes may refuse the run.
  return binding.made_for == SessionSizes::kAny || BindInputs(metadata, binding.arguments).ok();
}

StatusOr<Module> Session::LoadOrCompile(const Binding& binding) const {
  std::string path = options_.cache.PathOf(binding.key);
  if (!path.empty()) {
    StatusOr<Module> module = Module::Load(path, options_.load);
    // A damaged or foreign file is written again.
    if (module.ok() && Fits(*module, binding)) {
      options_.cache.Use(path);
      Note(binding, fmt::format("compiled before, '{}'", path));
      return module;
    }
  }
  return Compile(binding);
}

StatusOr<Module> Session::Compile(const Binding& binding) const {
  Stopwatch stopwatch;
  TCC_RETURN_IF_ERROR(StopIfRequested(options_.compile.stop));
  if (FileStates() != file_states_) {
    return InvalidInput("'{}' or its weights have changed since the session was opened", path_);
  }
  if (options_.compile.progress) options_.compile.progress("import", 0, 1);
  ImportOptions import = binding.import;
  import.facts_of = PartialEvaluator();
  TCC_ASSIGN_OR_RETURN(Graph graph, ImportOnnx(path_, import));
  TCC_ASSIGN_OR_RETURN(Artefact artefact,
                       options_.compile_graph(std::move(graph), options_.compile));
  Note(binding, fmt::format("compiled in {:.1f} s, {} kernels", stopwatch.Seconds(),
                            artefact.metadata.kernels.size()));
  Status kept = options_.cache.Put(artefact, binding.key);
  if (!kept.ok()) Note(binding, "not kept: " + Message(kept));
  return Module::FromArtefact(std::move(artefact), options_.load);
}

void Session::Note(const Binding& binding, const std::string& message) const {
  if (!options_.compile.note) return;
  options_.compile.note(binding.text.empty() ? message : binding.text + ": " + message);
}

}  // namespace tcc
