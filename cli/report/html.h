#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tcc {

// Returns the text as the content of an element or a quoted attribute. Control characters but tabs
// and line ends, and bytes that are not UTF-8, become U+FFFD.
std::string Escaped(std::string_view text);

// A cell of a table; its text is not escaped yet.
struct HtmlCell {
  std::string text;
  bool numeric = false;  // aligned to the right
};
HtmlCell NumericCell(std::string text);

// Returns a table in a box that scrolls sideways where the page is narrow. `label` names it for
// screen readers. A row has as many cells as there are names in `head`.
std::string HtmlTable(std::string_view label, const std::vector<HtmlCell>& head,
                      const std::vector<std::vector<HtmlCell>>& rows);

// Returns a section under a heading; `content` is HTML.
std::string HtmlSection(std::string_view title, const std::string& content);

// Returns a paragraph of text that is not escaped yet. `style`: "note" or "bad".
std::string HtmlParagraph(std::string_view style, std::string_view text);

}  // namespace tcc
