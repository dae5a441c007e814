#include "ir/function.h"

#include "ir/visitor.h"

namespace tcc {
namespace {
constexpr std::string_view kLevelText[] = {"tensor", "scheduled", "lowered"};
}  // namespace

std::string_view ToString(Level level) {
  return kLevelText[static_cast<int>(level)];
}

std::optional<Level> ParseLevel(std::string_view text) {
  for (size_t i = 0; i < std::size(kLevelText); ++i) {
    if (kLevelText[i] == text) return static_cast<Level>(i);
  }
  return std::nullopt;
}

std::vector<Buffer> DeclaredBuffers(const Function& fn) {
  std::vector<Buffer> buffers = fn.params;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    if (const auto* allocate = stmt.as<Allocate>()) buffers.push_back(allocate->buffer);
  });
  return buffers;
}

const Buffer* FindBuffer(const Function& fn, const Var& var) {
  for (const Buffer& param : fn.params) {
    if (param.var == var) return &param;
  }
  const Buffer* found = nullptr;
  PreOrder(fn.body, [&](const Stmt& stmt) {
    const auto* allocate = stmt.as<Allocate>();
    if (allocate && allocate->buffer.var == var) found = &allocate->buffer;
  });
  return found;
}

std::vector<Ref<Block>> BlocksOf(const Stmt& body) {
  std::vector<Ref<Block>> blocks;
  PreOrder(body, [&](const Stmt& stmt) {
    if (const auto* block = stmt.as<Block>()) blocks.push_back(Ref<Block>(block));
  });
  return blocks;
}

}  // namespace tcc
