#pragma once

#include <string>
#include <vector>

#include "ir/expr/stmt.h"
#include "support/status.h"

// In what order the body of a pipelined loop is issued.
namespace tcc {

// Blocks, one of each statement of the body, as the steady iteration of the pipeline issues the
// statements. Empty: the copies first, or last where they go through registers.
struct IssueOrder {
  std::vector<std::string> blocks;
  friend bool operator==(const IssueOrder&, const IssueOrder&) = default;
};

// What stands in the body of a loop to be pipelined.
struct PipelineBody {
  std::vector<Buffer> buffers;  // that live in the body, outermost first
  std::vector<Buffer> staged;   // those that the copies write and the uses read
  std::vector<Stmt> copies;
  std::vector<Stmt> uses;
};

// Refused: a name that no statement of the body holds; a statement that is left out or listed
// twice; a copy or a use before another one that writes what it accesses, or accesses what it
// writes; something between copies into one buffer. A use and a copy may change places, as the copy
// is of another iteration. `loop` names the loop, `declared` are the function's buffers.
Status CheckIssueOrder(const std::string& loop, const PipelineBody& body, const IssueOrder& order,
                       const std::vector<Buffer>& declared);

// The copies, then the uses with a mark (ir/expr/issue_mark.h) where the copies into a buffer are
// issued. Statements without blocks (hints) stay in front of the next one.
std::vector<Stmt> InIssueOrder(const PipelineBody& body, const IssueOrder& order);

}  // namespace tcc
