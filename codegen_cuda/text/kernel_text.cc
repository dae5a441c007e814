#include "codegen_cuda/text/kernel_text.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <utility>

namespace tcc {
namespace {

// Returns `name`, with an underscore appended unless it is free: no keyword, macro or function
// begins with a letter and ends in an underscore.
std::string Freed(const Dialect& dialect, const std::string& name) {
  return dialect.is_free(name) ? name : name + "_";
}

// Makes an identifier of letters, digits and single underscores that begins with a letter. Names
// that begin with tcc belong to the prelude.
std::string Identifier(const std::string& hint) {
  std::string name;
  for (char c : hint) {
    if (absl::ascii_isalnum(c)) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  if (name.ends_with('_')) name.pop_back();
  if (name.empty()) return "v";
  bool of_prelude = name.starts_with("tcc") || name.starts_with("Tcc") || name.starts_with("TCC");
  return absl::ascii_isalpha(name[0]) && !of_prelude ? name : "v_" + name;
}

}  // namespace

std::string KernelText::Fresh(const std::string& hint) {
  std::string base = Identifier(hint);
  std::string name = Freed(dialect, base);
  while (!used_.insert(name).second) {
    name = Freed(dialect, base + "_" + std::to_string(++count_[base]));
  }
  return name;
}

const std::string& KernelText::NameOf(const Var& var) {
  auto found = names_.find(var.get());
  if (found != names_.end()) return found->second;
  return names_.emplace(var.get(), Fresh(var->name)).first->second;
}

const std::string& KernelText::Define(const Var& var) {
  return names_.insert_or_assign(var.get(), Fresh(var->name)).first->second;
}

void KernelText::Alias(const Var& var, const std::string& name) {
  names_.insert_or_assign(var.get(), name);
}

void KernelText::Line(const std::string& text) {
  bool directive = text.starts_with("#");
  lines_.push_back((directive ? "" : std::string(static_cast<size_t>(depth_) * 2, ' ')) + text);
}

void KernelText::Open(const std::string& text) {
  Line(text + " {");
  ++depth_;
}

void KernelText::Else() {
  --depth_;
  Open("} else");
}

void KernelText::Close() {
  --depth_;
  Line("}");
}

std::vector<std::string> KernelText::TakeLines() {
  return std::exchange(lines_, {});
}

void KernelText::Append(std::vector<std::string> lines) {
  lines_.insert(lines_.end(), std::make_move_iterator(lines.begin()),
                std::make_move_iterator(lines.end()));
}

namespace {

bool IsOfWord(char c) {
  return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::vector<std::string> WordsOf(const std::string& line) {
  std::vector<std::string> words;
  for (size_t at = 0; at < line.size(); ++at) {
    if (!IsOfWord(line[at])) continue;
    const size_t begin = at;
    while (at < line.size() && IsOfWord(line[at])) ++at;
    words.push_back(line.substr(begin, at - begin));
  }
  return words;
}

// Returns the name that a line defines and does nothing else: "const TYPE NAME = VALUE;",
// "TYPE NAME;", "NAME = VALUE;" or "TCC_LOCAL(TYPE, NAME, COUNT);"; "" for any other line.
std::string DefinedIn(const std::string& line) {
  const size_t begin = line.find_first_not_of(' ');
  if (begin == std::string::npos || !line.ends_with(";")) return "";
  if (line.compare(begin, 10, "TCC_LOCAL(") == 0) return WordsOf(line)[2];
  const size_t equals = line.find(" = ");
  const std::string left =
      line.substr(begin, equals == std::string::npos ? equals : equals - begin);
  const std::vector<std::string> words = WordsOf(left);
  if (equals == std::string::npos) {
    return words.size() == 2 && left == words[0] + " " + words[1] + ";" ? words[1] : "";
  }
  const bool declares = words.size() == 3 && words[0] == "const";
  return declares || left == words[0] ? words.back() : "";
}

}  // namespace

// Definitions stand before what reads them, so that one pass from the end finds those that only
// others like them read.
void KernelText::DropUnused() {
  std::unordered_map<std::string, int> reads;
  auto count = [&](const std::string& line, int step) {
    for (const std::string& word : WordsOf(line)) reads[word] += step;
    if (std::string defined = DefinedIn(line); !defined.empty()) reads[defined] -= step;
  };
  for (const std::string& line : lines_) count(line, 1);
  std::vector<std::string> kept;
  for (size_t i = lines_.size(); i-- > 0;) {
    const std::string defined = DefinedIn(lines_[i]);
    if (!defined.empty() && reads[defined] == 0) {
      count(lines_[i], -1);
    } else {
      kept.push_back(std::move(lines_[i]));
    }
  }
  std::ranges::reverse(kept);
  lines_ = std::move(kept);
}

std::string KernelText::Text() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

}  // namespace tcc
