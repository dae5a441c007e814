#include "schedule/steps/issue_order.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "ir/analysis/accesses.h"
#include "ir/expr/function.h"
#include "ir/expr/issue_mark.h"

namespace tcc {
namespace {

// A statement that can be named, and the hints that precede it.
struct Issued {
  std::vector<Stmt> stmts;
  bool copy = false;
  std::vector<std::string> blocks;
};

std::vector<Issued> StatementsOf(const PipelineBody& body) {
  std::vector<Issued> statements;
  std::vector<Stmt> hints;
  auto add = [&](const Stmt& stmt, bool copy) {
    hints.push_back(stmt);
    std::vector<Ref<Block>> blocks = BlocksOf(stmt);
    if (blocks.empty()) return;
    Issued& issued = statements.emplace_back(Issued{std::move(hints), copy, {}});
    hints.clear();
    for (const Ref<Block>& block : blocks) issued.blocks.push_back(block->name);
  };
  for (const Stmt& stmt : body.copies) add(stmt, true);
  for (const Stmt& stmt : body.uses) add(stmt, false);
  if (statements.empty()) return statements;
  std::vector<Stmt>& last = statements.back().stmts;
  last.insert(last.end(), hints.begin(), hints.end());
  return statements;
}

bool Holds(const Issued& issued, const std::string& block) {
  return std::find(issued.blocks.begin(), issued.blocks.end(), block) != issued.blocks.end();
}

// Returns the statements' numbers in the order of the list.
std::vector<size_t> Listed(const std::vector<Issued>& statements, const IssueOrder& order) {
  std::vector<size_t> listed;
  for (const std::string& block : order.blocks) {
    for (size_t i = 0; i < statements.size(); ++i) {
      if (Holds(statements[i], block)) listed.push_back(i);
    }
  }
  return listed;
}

Status CheckNames(const std::string& loop, const std::vector<Issued>& statements,
                  const IssueOrder& order) {
  std::vector<std::string> first_blocks;
  for (const Issued& issued : statements) first_blocks.push_back(issued.blocks[0]);
  for (const std::string& block : order.blocks) {
    auto holds = [&](const Issued& issued) { return Holds(issued, block); };
    if (std::any_of(statements.begin(), statements.end(), holds)) continue;
    return InvalidInput("pipeline: no block '{}' in loop '{}' to be issued; it has {}", block, loop,
                        fmt::join(first_blocks, ", "));
  }
  std::vector<size_t> listed = Listed(statements, order);
  for (size_t i = 0; i < statements.size(); ++i) {
    auto times = std::count(listed.begin(), listed.end(), i);
    if (times == 1) continue;
    return InvalidInput(
        "pipeline: the order {} the statement of block '{}'; expected each of {} once",
        times == 0 ? "leaves out" : "repeats", first_blocks[i], fmt::join(first_blocks, ", "));
  }
  return OkStatus();
}

// Returns a buffer that one of the two writes and the other accesses, or nullptr.
const Buffer* SharedBuffer(const Issued& a, const Issued& b, const std::vector<Buffer>& declared) {
  Stmt first = SeqOf(a.stmts), second = SeqOf(b.stmts);
  for (const Buffer& buffer : declared) {
    bool meets = (Writes(first, buffer.var) && Accesses(second, buffer.var)) ||
                 (Writes(second, buffer.var) && Accesses(first, buffer.var));
    if (meets) return &buffer;
  }
  return nullptr;
}

// Returns the buffer, allocated in the body, that a copy fills, or nullptr if the statement is no
// copy.
const Buffer* FilledBy(const Issued& issued, const PipelineBody& body) {
  for (const Buffer& buffer : body.buffers) {
    if (issued.copy && Writes(SeqOf(issued.stmts), buffer.var)) return &buffer;
  }
  return nullptr;
}

bool FillsStaged(const Issued& issued, const PipelineBody& body) {
  return std::any_of(body.staged.begin(), body.staged.end(),
                     [&](const Buffer& buffer) { return Writes(SeqOf(issued.stmts), buffer.var); });
}

}  // namespace

Status CheckIssueOrder(const std::string& loop, const PipelineBody& body, const IssueOrder& order,
                       const std::vector<Buffer>& declared) {
  if (order.blocks.empty()) return OkStatus();
  std::vector<Issued> statements = StatementsOf(body);
  TCC_RETURN_IF_ERROR(CheckNames(loop, statements, order));
  std::vector<size_t> listed = Listed(statements, order);
  for (size_t i = 0; i < listed.size(); ++i) {
    const Issued& early = statements[listed[i]];
    for (size_t j = i + 1; j < listed.size(); ++j) {
      const Issued& late = statements[listed[j]];
      if (listed[j] > listed[i] || early.copy != late.copy) continue;
      const Buffer* shared = SharedBuffer(early, late, declared);
      if (!shared) continue;
      return InvalidInput(
          "pipeline: the order has block '{}' before '{}', which comes first in loop '{}' and "
          "meets it in buffer '{}'",
          early.blocks[0], late.blocks[0], loop, shared->var->name);
    }
  }
  std::vector<const Buffer*> filled;
  for (size_t i : listed) {
    const Buffer* buffer = FilledBy(statements[i], body);
    bool again = buffer && !filled.empty() && filled.back() != buffer &&
                 std::find(filled.begin(), filled.end(), buffer) != filled.end();
    filled.push_back(buffer);
    if (!again) continue;
    return InvalidInput("pipeline: the order has something between the copies into buffer '{}'",
                        buffer->var->name);
  }
  return OkStatus();
}

std::vector<Stmt> InIssueOrder(const PipelineBody& body, const IssueOrder& order) {
  std::vector<Issued> statements = StatementsOf(body);
  std::vector<size_t> listed = Listed(statements, order);
  std::vector<Stmt> stmts;
  // Copies through registers do all their loads before any store.
  for (bool stores : {false, true}) {
    for (size_t i : listed) {
      const Issued& issued = statements[i];
      if (!issued.copy || FillsStaged(issued, body) != stores) continue;
      stmts.insert(stmts.end(), issued.stmts.begin(), issued.stmts.end());
    }
  }
  const Buffer* last = nullptr;
  for (size_t i : listed) {
    const Issued& issued = statements[i];
    const Buffer* filled = FilledBy(issued, body);
    if (filled && filled != last) stmts.push_back(IssueMark(filled->var->name));
    if (!issued.copy) stmts.insert(stmts.end(), issued.stmts.begin(), issued.stmts.end());
    last = filled;
  }
  return stmts;
}

}  // namespace tcc
