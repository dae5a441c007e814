#pragma once

#include <string>
#include <string_view>

namespace tcc {

// Returns the class that has colour number `number` in the style of a page.
std::string ColourStyle(size_t number);

// Returns a page of HTML, with the first `colours` colours. It has no scripts and loads nothing.
// `title` is text, `content` HTML.
std::string HtmlPage(std::string_view title, size_t colours, const std::string& content);

}  // namespace tcc
