#include "cli/report/html.h"

#include <fmt/format.h>

#include <utility>

#include "support/printable.h"

namespace tcc {
namespace {

constexpr const char* kReplacement = "&#xfffd;";

void AppendEscaped(char c, std::string& result) {
  switch (c) {
    case '&':
      result += "&amp;";
      return;
    case '<':
      result += "&lt;";
      return;
    case '>':
      result += "&gt;";
      return;
    case '"':
      result += "&quot;";
      return;
    case '\'':
      result += "&#39;";
      return;
    default:
      break;
  }
  auto byte = static_cast<unsigned char>(c);
  bool is_control = (byte < 0x20 && c != '\n' && c != '\t') || byte == 0x7f;
  if (is_control) {
    result += kReplacement;
  } else {
    result += c;
  }
}

std::string CellText(const char* element, const HtmlCell& cell) {
  return fmt::format("<{0}{1}>{2}</{0}>", element, cell.numeric ? " class=\"n\"" : "",
                     Escaped(cell.text));
}

std::string RowText(const char* element, const std::vector<HtmlCell>& cells) {
  std::string text = "<tr>";
  for (const HtmlCell& cell : cells) text += CellText(element, cell);
  return text + "</tr>\n";
}

}  // namespace

HtmlCell NumericCell(std::string text) {
  return {.text = std::move(text), .numeric = true};
}

std::string Escaped(std::string_view text) {
  std::string valid = WithValidUtf8(text), result;
  result.reserve(valid.size());
  for (char c : valid) AppendEscaped(c, result);
  return result;
}

std::string HtmlTable(std::string_view label, const std::vector<HtmlCell>& head,
                      const std::vector<std::vector<HtmlCell>>& rows) {
  std::string text = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table>\n<thead>",
      Escaped(label));
  text += RowText("th", head) + "</thead>\n<tbody>\n";
  for (const std::vector<HtmlCell>& row : rows) text += RowText("td", row);
  return text + "</tbody>\n</table>\n</div>\n";
}

std::string HtmlSection(std::string_view title, const std::string& content) {
  return fmt::format("<section>\n<h2>{}</h2>\n{}</section>\n", Escaped(title), content);
}

std::string HtmlParagraph(std::string_view style, std::string_view text) {
  return fmt::format("<p class=\"{}\">{}</p>\n", style, Escaped(text));
}

}  // namespace tcc
