#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <list>
#include <sstream>
#include <utility>

#include "codegen_cuda/emulator/device_header.h"
#include "codegen_cuda/emulator/emulator.h"
#include "codegen_cuda/emulator/host_compiler.h"
#include "support/temporary_folder.h"

namespace tcc::emulator {
namespace {

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  return file ? OkStatus() : Missing("cannot write {}", path);
}

// The limit of the cache; each program keeps a loaded shared object.
constexpr size_t kMaxPrograms = 64;

struct ProgramCache {
  std::mutex mutex;
  // The programs, most recently used first.
  std::list<std::pair<std::string, std::shared_ptr<SharedProgram>>> programs;

  std::shared_ptr<SharedProgram> Find(const std::string& text) {
    std::lock_guard lock(mutex);
    for (auto program = programs.begin(); program != programs.end(); ++program) {
      if (program->first != text) continue;
      programs.splice(programs.begin(), programs, program);
      return program->second;
    }
    return nullptr;
  }

  void Add(const std::string& text, std::shared_ptr<SharedProgram> program) {
    std::lock_guard lock(mutex);
    programs.emplace_front(text, std::move(program));
    if (programs.size() > kMaxPrograms) programs.pop_back();
  }
};

// Returns the cache. It is never destroyed: programs may be in use until the process ends.
ProgramCache& Cache() {
  static auto* cache = new ProgramCache;
  return *cache;
}

}  // namespace

StatusOr<std::unique_ptr<Program>> Program::Compile(const std::string& text,
                                                    HostOptimization optimization) {
  TCC_ASSIGN_OR_RETURN(const std::string compiler, FindHostCompiler());
  TCC_ASSIGN_OR_RETURN(const TemporaryFolder folder, TemporaryFolder::Make("the emulated kernels"));
  TCC_RETURN_IF_ERROR(WriteText(folder / "kernel.cc", text));
  TCC_RETURN_IF_ERROR(WriteText(folder / "tcc_emulator.h", DeviceHeader()));
  TCC_RETURN_IF_ERROR(CompileSharedObject(compiler, folder.path(), optimization));

  std::unique_ptr<Program> program(new Program);
  program->text_ = text;
  program->host_ = std::make_unique<TccHost>();
  program->object_ = dlopen((folder / "kernel.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  if (program->object_ == nullptr) {
    return InvalidInput("cannot load the compiled CUDA text: {}", dlerror());
  }
  auto** host = static_cast<TccHost**>(dlsym(program->object_, "tcc_host"));
  if (host == nullptr) return InvalidInput("the CUDA text does not begin with tcc's prelude");
  *host = program->host_.get();
  return program;
}

Program::~Program() {
  if (object_ != nullptr) dlclose(object_);
}

const TccKernel* Program::Find(const std::string& kernel) const {
  return static_cast<const TccKernel*>(dlsym(object_, ("tcc_kernel_" + kernel).c_str()));
}

std::string Program::Line(int line) const {
  std::istringstream lines(text_);
  std::string text;
  for (int i = 0; i < line; ++i) std::getline(lines, text);
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin);
}

StatusOr<std::shared_ptr<SharedProgram>> CompiledProgram(const std::string& text) {
  if (std::shared_ptr<SharedProgram> known = Cache().Find(text)) return known;
  auto shared = std::make_shared<SharedProgram>();
  TCC_ASSIGN_OR_RETURN(shared->program, Program::Compile(text));
  Cache().Add(text, shared);
  return shared;
}

}  // namespace tcc::emulator
