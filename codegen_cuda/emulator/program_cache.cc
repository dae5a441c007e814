#include "codegen_cuda/emulator/program_cache.h"

#include <list>
#include <utility>

namespace tcc::emulator {
namespace {

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

StatusOr<std::shared_ptr<SharedProgram>> CompiledProgram(const std::string& text) {
  if (std::shared_ptr<SharedProgram> known = Cache().Find(text)) return known;
  auto shared = std::make_shared<SharedProgram>();
  TCC_ASSIGN_OR_RETURN(shared->program, Program::Compile(text));
  Cache().Add(text, shared);
  return shared;
}

}  // namespace tcc::emulator
