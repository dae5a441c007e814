#pragma once

#include "schedule/analysis/constraint.h"
#include "schedule/analysis/loop_tree.h"

namespace tcc {

// Makes readers of a buffer read a copy of it, which is filled before the first of them.
//
//   S: ... A[x, y] ...     -->     allocate A_s { for a, b { block A_s: A_s[a, b] = A[a, b] }
//                                                 S: ... A_s[x, y] ... }
//
// The copy holds the whole buffer until ComputeAt places it; then it holds only the window that is
// read.
struct CacheRead {
  std::string buffer;
  std::vector<std::string> readers;  // blocks; empty: all
  Scope scope = Scope::kGlobal;
  std::string name;  // the copy's block and buffer
  auto Fields() { return std::tie(buffer, readers, scope, name); }
};

// Makes a block write into a copy, which a write-back stores to the buffer afterwards. The
// initialisation of a decomposed reduction writes into the copy too.
//
//   S: C[i, j] = ...     -->     allocate C_l { S: C_l[i, j] = ...
//                                               for a, b { block C_l: C[a, b] = C_l[a, b] } }
struct CacheWrite {
  std::string block;
  std::string buffer;
  Scope scope = Scope::kGlobal;
  std::string name;
  auto Fields() { return std::tie(block, buffer, scope, name); }
};

// Sets the scope of a buffer of the function. A placed buffer that becomes shared gets the window
// of all threads of the block together.
struct SetScope {
  std::string buffer;
  Scope scope = Scope::kGlobal;
  auto Fields() { return std::tie(buffer, scope); }
};

// Refused: an unknown buffer or block; a reader that does not read the buffer; a name in use; a
// buffer that is placed already (has a window); for CacheRead, a writer that shares a nest with the
// first reader or follows it, or one that leaves out cells; for CacheWrite, a buffer with other
// writers, or with a reader in the writer's nest, or cells that are not known before the writer
// runs.
StatusOr<Constraints> CheckCacheRead(const Function& fn, const CacheRead& step);
Function ApplyCacheRead(const Function& fn, const CacheRead& step);
StatusOr<Constraints> CheckCacheWrite(const Function& fn, const CacheWrite& step);
Function ApplyCacheWrite(const Function& fn, const CacheWrite& step);
// Refused: a parameter; a shared scope for a placed buffer that has a layout or whose cells are not
// affine in the loops over threads.
StatusOr<Constraints> CheckSetScope(const Function& fn, const SetScope& step);
Function ApplySetScope(const Function& fn, const SetScope& step);

}  // namespace tcc
