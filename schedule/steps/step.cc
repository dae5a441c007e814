#include "schedule/steps/step.h"

#include <fmt/ranges.h>

#include <charconv>

#include "ir/expr/visitor.h"
#include "ir/text/parser.h"
#include "ir/text/printer.h"
#include "schedule/steps/all_steps.h"

namespace tcc {
namespace {

constexpr std::string_view kStepNames[] = {
#define TCC_STEP_NAME(step, name, scope) name,
    TCC_STEPS(TCC_STEP_NAME)
#undef TCC_STEP_NAME
};

constexpr StepScope kStepScopes[] = {
#define TCC_STEP_SCOPE(step, name, scope) scope,
    TCC_STEPS(TCC_STEP_SCOPE)
#undef TCC_STEP_SCOPE
};

std::string PrintField(const std::string& text) {
  return text;
}
std::string PrintField(TileForm form) {
  return std::string(ToString(form));
}
std::string PrintField(PrefetchPace pace) {
  return pace == PrefetchPace::kPresent ? "present" : "";
}
std::string PrintField(ForKind kind) {
  return std::string(ToString(kind));
}
std::string PrintField(Scope scope) {
  return std::string(ToString(scope));
}
std::string PrintField(int64_t number) {
  return std::to_string(number);
}
std::string PrintField(const Expr& expr) {
  return Print(expr);
}
std::string PrintField(const BlockFactor& block) {
  return fmt::format("{} by {}", block.dim, Print(block.factor));
}
template <typename T>
std::string PrintField(const std::vector<T>& list) {
  std::vector<std::string> items;
  for (const T& item : list) items.push_back(PrintField(item));
  return fmt::format("[{}]", fmt::join(items, ", "));
}
// Prints an expression as one word: a field ends at the next space outside parentheses.
std::string PrintWord(const Expr& expr) {
  std::string text = Print(expr);
  return text.find(' ') == std::string::npos ? text : "(" + text + ")";
}
template <typename T>
std::string PrintWord(const T& field) {
  return PrintField(field);
}

// Reads the words of a line, and bracketed lists of words.
class FieldReader {
 public:
  FieldReader(const std::string& line, const std::map<std::string, Var>& vars)
      : text_(line), vars_(vars) {}

  std::string Word() {
    SkipSpace();
    size_t start = at_;
    while (at_ < text_.size() && text_[at_] != ' ' && text_[at_] != '[') ++at_;
    return text_.substr(start, at_ - start);
  }

  void Read(std::string& field) {
    field = Word();
    if (field.empty()) Fail("expected a name");
  }
  void Read(TileForm& form) {
    std::string word = Word();
    if (auto parsed = ParseTileForm(word)) {
      form = *parsed;
    } else {
      Fail("'" + word + "' is no form of a tile");
    }
  }
  void Read(PrefetchPace& pace) {
    std::string word = Word();
    pace = word.empty() ? PrefetchPace::kAll : PrefetchPace::kPresent;
    if (!word.empty() && word != "present") Fail("'" + word + "'; expected 'present' or nothing");
  }
  void Read(ForKind& kind) {
    std::string word = Word();
    if (auto parsed = ParseForKind(word)) {
      kind = *parsed;
    } else {
      Fail("'" + word + "' is no kind of loop");
    }
  }
  void Read(Scope& scope) {
    std::string word = Word();
    if (auto parsed = ParseScope(word)) {
      scope = *parsed;
    } else {
      Fail("'" + word + "' is no scope");
    }
  }
  void Read(int64_t& number) { ReadNumber(Word(), number); }
  // Reads one word, or an expression in parentheses.
  void Read(Expr& expr) { ReadSize(SizeWord(), expr); }
  void Read(std::vector<std::string>& list) { list = Items(); }
  void Read(std::vector<int64_t>& list) {
    for (const std::string& item : Items()) ReadNumber(item, list.emplace_back());
  }
  void Read(std::vector<Expr>& list) {
    for (const std::string& item : Items()) ReadSize(item, list.emplace_back());
  }
  void Read(std::vector<BlockFactor>& list) {
    for (const std::string& item : Items()) ReadBlock(item, list.emplace_back());
  }

  Status Finish() {
    SkipSpace();
    if (error_.empty() && at_ != text_.size()) Fail("unexpected '" + text_.substr(at_) + "'");
    return error_.empty() ? OkStatus() : InvalidInput("step '{}': {}", text_, error_);
  }

 private:
  void SkipSpace() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  void Fail(const std::string& why) {
    if (error_.empty()) error_ = why;
  }

  std::string SizeWord() {
    SkipSpace();
    size_t start = at_;
    int depth = 0;
    for (; at_ < text_.size() && (depth > 0 || text_[at_] != ' '); ++at_) {
      depth += (text_[at_] == '(') - (text_[at_] == ')');
    }
    return text_.substr(start, at_ - start);
  }

  void ReadNumber(const std::string& word, int64_t& number) {
    auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    if (error != std::errc() || end != word.data() + word.size()) {
      Fail("'" + word + "' is no integer");
    }
  }
  void ReadSize(const std::string& text, Expr& expr) {
    StatusOr<Expr> parsed = ParseExpr(text, vars_);
    if (!parsed.ok()) return Fail(Message(parsed.status()));
    if (parsed->dtype() != kInt64) return Fail("'" + text + "' is no i64");
    expr = *parsed;
  }
  // Reads "1 by 32".
  void ReadBlock(const std::string& item, BlockFactor& block) {
    size_t by = item.find(" by ");
    if (by == std::string::npos) return Fail("'" + item + "'; expected 'DIMENSION by FACTOR'");
    int64_t dim = 0;
    ReadNumber(item.substr(0, by), dim);
    if (dim < 0 || dim > INT32_MAX) Fail("'" + item + "' has no dimension");
    block.dim = static_cast<int>(dim);
    ReadSize(item.substr(by + 4), block.factor);
  }

  // Returns the items between the brackets; commas inside parentheses do not separate.
  std::vector<std::string> Items() {
    SkipSpace();
    std::vector<std::string> items;
    if (at_ >= text_.size() || text_[at_] != '[') {
      Fail("expected '['");
      return items;
    }
    std::string item;
    int depth = 0;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      depth += (c == '(') - (c == ')');
      if (depth != 0 || (c != ',' && c != ']')) {
        if (c != ' ' || !item.empty()) item += c;
        continue;
      }
      while (item.ends_with(' ')) item.pop_back();
      bool none = c == ']' && items.empty();
      if (item.empty() && !none) Fail("expected an item between '[' or ',' and ',' or ']'");
      if (!item.empty()) items.push_back(std::move(item));
      item.clear();
      if (c == ']') {
        ++at_;
        return items;
      }
    }
    Fail("expected ']'");
    return items;
  }

  std::string text_;
  const std::map<std::string, Var>& vars_;
  size_t at_ = 0;
  std::string error_;
};

template <typename T>
T ReadStep(FieldReader& reader) {
  T step{};
  std::apply([&](auto&... field) { (reader.Read(field), ...); }, step.Fields());
  return step;
}

}  // namespace

StatusOr<Constraints> Check(const Function& fn, const Step& step) {
  switch (step.kind()) {
#define TCC_STEP_CHECK(type, name, scope) \
  case StepKind::k##type:                 \
    return Check##type(fn, *step.as<type>());
    TCC_STEPS(TCC_STEP_CHECK)
#undef TCC_STEP_CHECK
  }
  __builtin_unreachable();
}

Function Apply(const Function& fn, const Step& step) {
  switch (step.kind()) {
#define TCC_STEP_APPLY(type, name, scope) \
  case StepKind::k##type:                 \
    return Apply##type(fn, *step.as<type>());
    TCC_STEPS(TCC_STEP_APPLY)
#undef TCC_STEP_APPLY
  }
  __builtin_unreachable();
}

Function Apply(Function&& fn, const Step& step) {
  if (kStepScopes[static_cast<size_t>(step.kind())] == StepScope::kProgram) {
    return Apply(std::as_const(fn), step);
  }
  std::vector<Buffer> params = std::exchange(fn.params, {});
  Function result = Apply(std::as_const(fn), step);
  result.params = std::move(params);
  return result;
}

std::string Print(const Step& step) {
  std::string line(kStepNames[static_cast<size_t>(step.kind())]);
  VisitStep(step, [&](auto copy) {
    auto add = [&](const std::string& word) { line += word.empty() ? "" : " " + word; };
    std::apply([&](const auto&... field) { (add(PrintWord(field)), ...); }, copy.Fields());
  });
  return line;
}

StatusOr<Step> ParseStep(const std::string& line, const std::map<std::string, Var>& vars) {
  FieldReader reader(line, vars);
  std::string name = reader.Word();
#define TCC_STEP_PARSE(type, text, scope) \
  if (name == text) {                     \
    Step step = ReadStep<type>(reader);   \
    TCC_RETURN_IF_ERROR(reader.Finish()); \
    return step;                          \
  }
  TCC_STEPS(TCC_STEP_PARSE)
#undef TCC_STEP_PARSE
  return InvalidInput("unknown step '{}'; expected one of {}", name, fmt::join(kStepNames, ", "));
}

Step Substitute(const Step& step, const Substitution& values) {
  auto into = Overloaded{
      [&](Expr& expr) { expr = Substitute(expr, values); },
      [&](std::vector<Expr>& list) {
        for (Expr& expr : list) expr = Substitute(expr, values);
      },
      [&](std::vector<BlockFactor>& list) {
        for (BlockFactor& block : list) block.factor = Substitute(block.factor, values);
      },
      [](auto&) {},
  };
  return VisitStep(step, [&](auto copy) {
    std::apply([&](auto&... field) { (into(field), ...); }, copy.Fields());
    return Step(std::move(copy));
  });
}

}  // namespace tcc
