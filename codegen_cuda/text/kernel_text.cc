#include "codegen_cuda/text/kernel_text.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <utility>

namespace tcc {
namespace {

// Checks whether a name cannot be a keyword, a macro or a function that kernels call: none of those
// is one letter, and those that end in a digit are macros in capitals. Types like float4 may be
// hidden, because kernels do not use them.
bool IsFree(const std::string& name) {
  if (name.size() == 1) return true;
  return absl::ascii_isdigit(name.back()) && std::ranges::any_of(name, absl::ascii_islower);
}

// Returns `name`, with an underscore appended unless it is free: no keyword, macro or function
// begins with a letter and ends in an underscore.
std::string Freed(const std::string& name) {
  return IsFree(name) ? name : name + "_";
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
  std::string name = Freed(base);
  while (!used_.insert(name).second) {
    name = Freed(base + "_" + std::to_string(++count_[base]));
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

std::string KernelText::Text() const {
  std::string text;
  for (const std::string& line : lines_) text += line + "\n";
  return text;
}

}  // namespace tcc
