#include "codegen_vdla/refusal.h"

#include "ir/text/printer.h"

namespace tcc {

std::string OneLine(const Stmt& stmt) {
  std::string line;
  for (char c : Print(stmt)) {
    if (c == '\n') c = ' ';
    if (c != ' ' || !line.ends_with(' ')) line += c;
  }
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

}  // namespace tcc
