#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "compiler/artefact_cache.h"
#include "compiler/compile_graph.h"
#include "models/onnx/import_onnx.h"
#include "runtime/executor/executor.h"
#include "support/sha256.h"

namespace tcc {

// The artefacts that a session makes: one for all sizes first, and for each size that it refuses
// one more; or one for each size.
enum class SessionSizes : uint8_t { kAny, kEach };

struct SessionOptions {
  // Sizes, shapes and constants that hold for every run. The session sets `facts_of`.
  ImportOptions import = {};
  CompileOptions compile;  // without sketch rules; `note` is told of each artefact
  LoadOptions load = {};
  SessionSizes sizes = SessionSizes::kAny;
  ArtefactCache cache = ArtefactCache("");
  std::function<StatusOr<Artefact>(Graph, const CompileOptions&)> compile_graph = CompileGraph;
};

// One ONNX model at any shape. A run compiles an artefact for all sizes, and for the values of
// inputs that decide shapes, unless there is one already: the last kMaxModules stay loaded, and the
// cache keeps files. Where the model needs numbers for its sizes, or the artefact refuses
// the inputs, as it does where one is repeated to the extent of another, the run compiles one for
// its sizes. It suits trials and tests; a program that serves requests would wait for the compiler
// at new values and at such sizes.
//
// Runs may come from several threads. One artefact is compiled at a time, and runs of one artefact
// follow each other.
class Session {
 public:
  static constexpr size_t kMaxModules = 8;
  // The largest value that an artefact is made for. A larger one is left to the compiler, which
  // says what depends on it.
  static constexpr size_t kMaxBoundBytes = 4096;

  // Imports the model. Error: ImportOnnx's.
  static StatusOr<std::unique_ptr<Session>> Open(const std::string& path, SessionOptions options);

  // Describes the inputs, whose free dimensions are variables, and names the outputs, without
  // shapes.
  const Metadata& signature() const { return signature_; }

  // Runs the model on inputs in its order. InvalidArgument, naming the input, where a type or shape
  // does not fit; errors of a compilation say for which sizes it was.
  StatusOr<std::vector<Tensor>> Run(std::span<const Tensor> inputs);

 private:
  struct Binding;
  struct Compiled;

  Session(std::string path, SessionOptions options);
  Status Describe();
  std::string FileStates() const;
  StatusOr<std::vector<int64_t>> CheckInputs(std::span<const Tensor> inputs) const;
  Binding BindingOf(std::span<const Tensor> inputs, std::span<const int64_t> sizes,
                    SessionSizes made_for) const;
  std::shared_ptr<Compiled> FindLoaded(const Sha256Digest& key);
  StatusOr<std::shared_ptr<Compiled>> FindOrCompileAny(const Binding& any, const Binding& own);
  StatusOr<std::shared_ptr<Compiled>> FindOrCompile(const Binding& binding);
  bool Fits(const Module& module, const Binding& binding) const;
  StatusOr<Module> LoadOrCompile(const Binding& binding) const;
  StatusOr<Module> Compile(const Binding& binding) const;
  void Note(const Binding& binding, const std::string& message) const;

  std::string path_;
  SessionOptions options_;
  std::vector<std::string> external_files_;
  std::string file_states_;  // when the session was opened
  Sha256Digest key_{};       // of all but the binding
  Metadata signature_;
  // By input.
  std::vector<bool> decides_shapes_;
  std::vector<bool> is_read_;

  std::mutex compiling_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Compiled>> loaded_;  // the most recently used first
  std::set<Sha256Digest> needs_sizes_;             // bindings that compile at known sizes only
};

}  // namespace tcc
