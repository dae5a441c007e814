#pragma once

#include <string>

namespace tcc {

// The page of supported operators, docs/operators.md, made from the importer's table.
std::string OpsMarkdown();

}  // namespace tcc
