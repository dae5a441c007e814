#include "codegen_cuda/kernel_text.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <utility>

namespace tcc {
namespace {

// Words of C++ and names of CUDA and <math.h> that a variable might be called; names that begin
// with tcc are the prelude's.
constexpr std::string_view kTaken[] = {
    "and",      "asm",      "auto",    "bool",      "break",    "case",    "char",   "class",
    "const",    "default",  "delete",  "do",        "double",   "else",    "enum",   "exp",
    "explicit", "extern",   "false",   "float",     "for",      "friend",  "goto",   "if",
    "inline",   "int",      "log",     "long",      "new",      "not",     "or",     "operator",
    "pow",      "private",  "public",  "register",  "return",   "short",   "signed", "sizeof",
    "static",   "struct",   "switch",  "template",  "this",     "throw",   "true",   "try",
    "typedef",  "typename", "union",   "unsigned",  "using",    "virtual", "void",   "volatile",
    "while",    "xor",      "y0",      "y1",        "yn",       "j0",      "j1",     "jn",
    "blockDim", "blockIdx", "gridDim", "threadIdx", "warpSize", "erf",     "sin",    "cos",
    "tan"};

std::string Identifier(const std::string& hint) {
  std::string name;
  for (char c : hint) {
    bool keep = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (keep) {
      name += c;
    } else if (!name.empty() && name.back() != '_') {
      name += '_';
    }
  }
  bool plain = !name.empty() && std::isalpha(static_cast<unsigned char>(name[0])) != 0;
  if (!plain || name.starts_with("tcc") || name.starts_with("Tcc") || name.starts_with("TCC"))
    name = "v_" + name;
  if (std::find(std::begin(kTaken), std::end(kTaken), name) != std::end(kTaken)) name += "_";
  return name;
}

}  // namespace

std::string KernelText::Fresh(const std::string& hint) {
  std::string base = Identifier(hint);
  std::string name = base;
  while (!used_.emplace(name, 0).second) name = base + "_" + std::to_string(++used_[base]);
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
