#include "ir/analysis/own_cells.h"
#include "lower/passes/passes.h"

namespace tcc {

Function DropCellsOfOthers(const Function& fn) {
  Function result = fn;
  result.body = KeepOwnCells(fn.body);
  return result;
}

}  // namespace tcc
