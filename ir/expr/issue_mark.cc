#include "ir/expr/issue_mark.h"

namespace tcc {
namespace {

constexpr std::string_view kPrefix = "issue ";

}  // namespace

Stmt IssueMark(const std::string& buffer) {
  return MakeStmt<IntrinsicCall>(std::string(kPrefix) + buffer, Nothing());
}

std::string_view IssuedBuffer(const Stmt& stmt) {
  const auto* call = stmt.as<IntrinsicCall>();
  if (!call || !call->intrinsic.starts_with(kPrefix)) return "";
  return std::string_view(call->intrinsic).substr(kPrefix.size());
}

}  // namespace tcc
