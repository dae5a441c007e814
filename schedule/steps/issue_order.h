#pragma once

#include <string>
#include <vector>

#include "ir/expr/stmt.h"
#include "support/status.h"

// The order in which the body of a pipelined loop is issued.
namespace tcc {

// One block of each statement of the body, in the order in which the pipeline's steady iteration
// issues the statements. Empty: the copies come first, or last if they go through registers.
struct IssueOrder {
  std::vector<std::string> blocks;
  friend bool operator==(const IssueOrder&, const IssueOrder&) = default;
};

// The contents of the body of a loop to be pipelined.
struct PipelineBody {
  std::vector<Buffer> buffers;  // allocated in the body, outermost first
  std::vector<Buffer> staged;   // written by the copies, read by the uses
  std::vector<Stmt> copies;
  std::vector<Stmt> uses;
};

// Refused: a name that no statement of the body holds; a statement that is left out or listed
// twice; two copies, or two uses, that are swapped although one writes what the other accesses;
// something between copies into one buffer. A use and a copy may swap places, since the copy
// belongs to another iteration. `loop` names the loop, `declared` are the function's buffers.
Status CheckIssueOrder(const std::string& loop, const PipelineBody& body, const IssueOrder& order,
                       const std::vector<Buffer>& declared);

// Returns the copies, then the uses, with a mark (ir/expr/issue_mark.h) where the copies into a
// buffer are issued. Statements without blocks (hints) stay in front of the next statement.
std::vector<Stmt> InIssueOrder(const PipelineBody& body, const IssueOrder& order);

}  // namespace tcc
