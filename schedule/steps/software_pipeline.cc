#include "schedule/steps/software_pipeline.h"

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/visitor.h"
#include "ir/simplify/interval.h"
#include "ir/text/printer.h"
#include "schedule/analysis/guard.h"

namespace tcc {
namespace {

// The body of a loop that is to be pipelined.
struct PipelineBody {
  std::vector<Buffer> buffers;  // that live in the body, outermost first
  std::vector<Buffer> staged;   // those that the copies write and the uses read
  std::vector<Stmt> copies;
  std::vector<Stmt> uses;
  bool copies_first = true;
};

void Collect(const Stmt& stmt, std::vector<Buffer>& buffers, std::vector<Stmt>& stmts) {
  if (const auto* allocate = stmt.as<Allocate>()) {
    buffers.push_back(allocate->buffer);
    Collect(allocate->body, buffers, stmts);
  } else if (const auto* seq = stmt.as<Seq>()) {
    for (const Stmt& child : seq->stmts) Collect(child, buffers, stmts);
  } else {
    stmts.push_back(stmt);
  }
}

bool AnyWrites(const std::vector<Stmt>& stmts, const Var& buffer) {
  return std::ranges::any_of(stmts, [&](const Stmt& stmt) { return Writes(stmt, buffer); });
}
bool AnyReads(const std::vector<Stmt>& stmts, const Var& buffer) {
  return std::ranges::any_of(stmts, [&](const Stmt& stmt) { return Reads(stmt, buffer); });
}

bool WritesAny(const Stmt& stmt, const std::vector<Buffer>& buffers) {
  return std::ranges::any_of(buffers,
                             [&](const Buffer& buffer) { return Writes(stmt, buffer.var); });
}

// Returns the shared and global buffers of the body that are written, later read, and do not depend
// on another one of them.
std::vector<Buffer> StagedBuffers(const std::vector<Buffer>& buffers,
                                  const std::vector<Stmt>& stmts) {
  std::vector<Buffer> staged;
  for (const Buffer& buffer : buffers) {
    bool kept = buffer.scope == Scope::kShared || buffer.scope == Scope::kGlobal;
    size_t last_write = 0;
    size_t last_read = 0;
    for (size_t i = 0; i < stmts.size(); ++i) {
      if (Writes(stmts[i], buffer.var)) last_write = i + 1;
      if (Reads(stmts[i], buffer.var)) last_read = i + 1;
    }
    if (kept && last_write > 0 && last_read > last_write) staged.push_back(buffer);
  }
  // The buffers that depend on what is staged already.
  std::vector<Var> computed;
  std::vector<Var> copied;
  for (const Stmt& stmt : stmts) {
    auto reads = [&](const Var& buffer) { return Reads(stmt, buffer); };
    bool depends = std::ranges::any_of(computed, reads) || std::ranges::any_of(copied, reads);
    for (const Buffer& buffer : buffers) {
      if (Writes(stmt, buffer.var)) (depends ? computed : copied).push_back(buffer.var);
    }
    std::erase_if(copied, [&](const Var& buffer) {
      return std::ranges::none_of(staged, [&](const Buffer& b) { return b.var == buffer; });
    });
  }
  std::erase_if(staged, [&](const Buffer& buffer) {
    return std::ranges::find(computed, buffer.var) != computed.end();
  });
  return staged;
}

// Splits the body into copies, which write the staged buffers or what only a later copy reads, and
// uses. CheckCopies decides whether all copies may come first.
StatusOr<PipelineBody> BodyOf(const For& loop) {
  PipelineBody body;
  std::vector<Stmt> stmts;
  Collect(loop.body, body.buffers, stmts);
  body.staged = StagedBuffers(body.buffers, stmts);
  if (body.staged.empty()) {
    return InvalidInput(
        "pipeline: in loop '{}' lives no shared or global buffer that is written first and then "
        "read; cache an operand and compute it at the loop",
        loop.key);
  }
  std::vector<Buffer> wanted = body.staged;  // by copies
  for (size_t i = stmts.size(); i-- > 0;) {
    bool copies = WritesAny(stmts[i], wanted);
    if (copies) {
      for (const Buffer& buffer : body.buffers) {
        if (Reads(stmts[i], buffer.var)) wanted.push_back(buffer);
      }
    }
    (copies ? body.copies : body.uses).push_back(stmts[i]);
    body.copies_first = body.copies_first && (copies || body.copies.empty());
  }
  std::ranges::reverse(body.copies);
  std::ranges::reverse(body.uses);
  return body;
}

// Returns the body with its copies in front of its uses.
Stmt CopiesFirst(const PipelineBody& body) {
  std::vector<Stmt> stmts = body.copies;
  stmts.insert(stmts.end(), body.uses.begin(), body.uses.end());
  Stmt result = SeqOf(stmts);
  for (size_t i = body.buffers.size(); i-- > 0;) {
    result = MakeStmt<Allocate>(body.buffers[i], result);
  }
  return result;
}

Status CheckCopies(const For& loop, const PipelineBody& body, const std::vector<Buffer>& declared) {
  auto is_staged = [&](const Buffer& buffer) {
    return std::ranges::any_of(body.staged,
                               [&](const Buffer& staged) { return staged.var == buffer.var; });
  };
  bool storing = false;
  for (const Stmt& copy : body.copies) {
    bool stores = false;
    for (const Buffer& buffer : body.staged) {
      stores = stores || Writes(copy, buffer.var);
    }
    if (storing && !stores) {
      return InvalidInput("pipeline: something stands between the copies of loop '{}'", loop.key);
    }
    storing = stores;
  }
  for (const Buffer& buffer : declared) {
    for (const Stmt& copy : body.copies) {
      // Lowered, it would be several statements, and some no copies.
      bool both = WritesAny(copy, body.staged) && !is_staged(buffer) && Writes(copy, buffer.var) &&
                  !IsAllocatedIn(copy, buffer.var);
      if (!both) continue;
      return InvalidInput(
          "pipeline: a copy in loop '{}' writes buffer '{}', too, which is not "
          "staged",
          loop.key, buffer.var->name);
    }
    bool written = AnyWrites(body.copies, buffer.var);
    if (written && !is_staged(buffer) && AnyReads(body.uses, buffer.var)) {
      return InvalidInput(
          "pipeline: buffer '{}' is written on the way to a copy of loop '{}' and read by its uses",
          buffer.var->name, loop.key);
    }
    if (AnyWrites(body.uses, buffer.var) && (written || AnyReads(body.copies, buffer.var))) {
      return InvalidInput(
          "pipeline: the uses in loop '{}' write buffer '{}', which its copies access", loop.key,
          buffer.var->name);
    }
  }
  for (const Buffer& buffer : body.staged) {
    for (const Expr& size : buffer.window.size) {
      if (!UsesVar(size, loop.var)) continue;
      return InvalidInput("pipeline: the size of buffer '{}' changes with loop '{}'",
                          buffer.var->name, loop.key);
    }
  }
  return OkStatus();
}

}  // namespace

StatusOr<Constraints> CheckSoftwarePipeline(const Function& fn, const SoftwarePipeline& step) {
  if (!IsPipelined(step.kind)) {
    return InvalidInput("pipeline: loop '{}' to be {}; expected pipelined or pipelined_async",
                        step.loop, ToString(step.kind));
  }
  TCC_ASSIGN_OR_RETURN(Path path, FindLoop(fn, step.loop));
  Ref<For> loop = LoopAt(path);
  TCC_RETURN_IF_ERROR(ExpectSerial("pipeline", loop));
  TCC_RETURN_IF_ERROR(ExpectOutsideVectors("pipeline", path));
  TCC_RETURN_IF_ERROR(ExpectCarriesNothing("pipeline", fn, *loop));
  Status nested;
  auto refuse_nesting = [&](const For& other) {
    if (!IsPipelined(other.for_kind)) return;
    nested = InvalidInput("pipeline: loop '{}' is pipelined already", other.key);
  };
  for (const Ref<For>& round : LoopsOn(path)) refuse_nesting(*round);
  PreOrder(loop->body, [&](const Stmt& stmt) {
    if (const auto* inner = stmt.as<For>()) refuse_nesting(*inner);
  });
  TCC_RETURN_IF_ERROR(nested);
  TCC_ASSIGN_OR_RETURN(PipelineBody body, BodyOf(*loop));
  std::vector<Buffer> declared = DeclaredBuffers(fn);
  TCC_RETURN_IF_ERROR(CheckCopies(*loop, body, declared));
  Interval stages = BoundsOf(step.stages, {});
  if (stages.high < 1 || stages.low > kMaxStages) {
    return InvalidInput("pipeline: loop '{}' in {} stages; expected at least 1 and at most {}",
                        step.loop, Print(step.stages), kMaxStages);
  }
  Constraints constraints;
  if (stages.low < 1) constraints.push_back({Expr(1) - step.stages, "a pipeline has a stage"});
  if (stages.high > kMaxStages) {
    constraints.push_back({step.stages - Expr(kMaxStages), "every stage has code of its own"});
  }
  return constraints;
}

Function ApplySoftwarePipeline(const Function& fn, const SoftwarePipeline& step) {
  Ref<For> loop = LoopAt(FindLoop(fn, step.loop).value());
  PipelineBody body = BodyOf(*loop).value();
  auto version = [&](const Stmt& stmt) -> Stmt {
    const auto* allocate = stmt.as<Allocate>();
    if (!allocate) return stmt;
    for (const Buffer& staged : body.staged) {
      if (!(staged.var == allocate->buffer.var)) continue;
      Buffer buffer = allocate->buffer;
      buffer.versions = step.stages;
      return MakeStmt<Allocate>(buffer, allocate->body);
    }
    return stmt;
  };
  Stmt ordered = body.copies_first ? loop->body : CopiesFirst(body);
  Stmt rewritten = RewriteBottomUp(ordered, version, [](const Expr& expr) { return expr; });
  Function result = fn;
  result.body = Replace(fn.body, loop.get(),
                        MakeStmt<For>(loop->var, loop->extent, step.kind, loop->key, rewritten));
  return result;
}

}  // namespace tcc
