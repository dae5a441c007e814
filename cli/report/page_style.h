#pragma once

#include <string>

namespace tcc {

// Returns the style sheet of a page, with a colour for each searcher (SearcherStyle).
std::string PageStyle(size_t searchers);

}  // namespace tcc
