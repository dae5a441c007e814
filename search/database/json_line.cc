#include "search/database/json_line.h"

#include <charconv>
#include <cmath>
#include <limits>

#include "support/check.h"

namespace tcc {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";  // U+FFFD

bool IsContinuation(std::string_view text, size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0) == 0x80;
}

// The number of bytes of the UTF-8 character at the front of `text`; 0: it is none.
size_t Utf8Length(std::string_view text) {
  auto first = static_cast<unsigned char>(text[0]);
  if (first < 0x80) return 1;
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4) return 0;
  for (size_t i = 1; i < length; ++i) {
    if (!IsContinuation(text, i)) return 0;
  }
  auto second = static_cast<unsigned char>(text[1]);
  bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  bool surrogate = first == 0xed && second >= 0xa0;
  bool beyond = first == 0xf4 && second >= 0x90;
  return overlong || surrogate || beyond ? 0 : length;
}

std::string ToUtf8(uint32_t code) {
  auto tail = [&](int shift) { return static_cast<char>(0x80 | (code >> shift & 0x3f)); };
  if (code < 0x80) return {static_cast<char>(code)};
  if (code < 0x800) return {static_cast<char>(0xc0 | code >> 6), tail(0)};
  if (code < 0x10000) return {static_cast<char>(0xe0 | code >> 12), tail(6), tail(0)};
  return {static_cast<char>(0xf0 | code >> 18), tail(12), tail(6), tail(0)};
}

// The character that the letter after a backslash stands for; nullopt: none.
std::optional<char> Unescaped(char letter) {
  constexpr std::string_view kLetters = "\"\\/bfnrt", kMeanings = "\"\\/\b\f\n\r\t";
  size_t place = kLetters.find(letter);
  if (place == kLetters.npos) return std::nullopt;
  return kMeanings[place];
}

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

}  // namespace

std::string JsonString(std::string_view text) {
  std::string json = "\"";
  for (size_t i = 0; i < text.size();) {
    char c = text[i];
    size_t length = Utf8Length(text.substr(i));
    if (c == '"' || c == '\\') {
      json += {'\\', c};
    } else if (c == '\n') {
      json += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      json += fmt::format("\\u{:04x}", static_cast<int>(c));
    } else {
      json += length ? text.substr(i, length) : kReplacement;
    }
    i += length ? length : 1;
  }
  return json + "\"";
}

JsonObject& JsonObject::AddText(std::string_view name, std::string_view json) {
  fields_ += fmt::format("{}{}: {}", fields_.empty() ? "" : ", ", JsonString(name), json);
  return *this;
}

JsonObject& JsonObject::Add(std::string_view name, std::string_view value) {
  return AddText(name, JsonString(value));
}

JsonObject& JsonObject::Add(std::string_view name, const char* value) {
  return AddText(name, JsonString(value));
}

JsonObject& JsonObject::Add(std::string_view name, int64_t value) {
  return AddText(name, fmt::format("{}", value));
}

JsonObject& JsonObject::Add(std::string_view name, double value) {
  constexpr double kMax = std::numeric_limits<double>::max();
  return AddText(name, fmt::format("{}", std::isfinite(value) ? value : kMax));
}

JsonObject& JsonObject::Add(std::string_view name, bool value) {
  return AddText(name, value ? "true" : "false");
}

JsonObject& JsonObject::Add(std::string_view name, const std::vector<std::string>& value) {
  std::string json;
  for (const std::string& text : value) json += (json.empty() ? "" : ", ") + JsonString(text);
  return AddText(name, "[" + json + "]");
}

StatusOr<const JsonLineFields::Value*> JsonLineFields::Find(const std::string& name) const {
  auto found = values_.find(name);
  if (found == values_.end()) return InvalidInput("field '{}' is missing", name);
  return &found->second;
}

template <typename T>
StatusOr<T> JsonLineFields::Get(const std::string& name, std::string_view kind) const {
  TCC_ASSIGN_OR_RETURN(const Value* value, Find(name));
  if (const T* content = std::get_if<T>(value)) return *content;
  constexpr const char* kKinds[] = {"a bool", "a number", "a string", "an array"};
  return InvalidInput("field '{}' is {}; expected {}", name, kKinds[value->index()], kind);
}

StatusOr<std::string> JsonLineFields::Text(const std::string& name) const {
  return Get<std::string>(name, "a string");
}

StatusOr<std::vector<std::string>> JsonLineFields::Texts(const std::string& name) const {
  return Get<std::vector<std::string>>(name, "an array of strings");
}

StatusOr<int64_t> JsonLineFields::Int(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(Number number, Get<Number>(name, "an integer"));
  int64_t value = 0;
  const char* end = number.text.data() + number.text.size();
  auto [stop, error] = std::from_chars(number.text.data(), end, value);
  if (error == std::errc() && stop == end) return value;
  return InvalidInput("field '{}' is {}; expected an integer of 64 bits", name, number.text);
}

StatusOr<double> JsonLineFields::Real(const std::string& name) const {
  TCC_ASSIGN_OR_RETURN(Number number, Get<Number>(name, "a number"));
  double value = 0;
  const char* end = number.text.data() + number.text.size();
  auto [stop, error] = std::from_chars(number.text.data(), end, value);
  if (error == std::errc() && stop == end && std::isfinite(value)) return value;
  return InvalidInput("field '{}' is {}; expected a finite number", name, number.text);
}

class JsonLineReader {
 public:
  explicit JsonLineReader(std::string_view line) : line_(line) {}

  StatusOr<JsonLineFields> Read() {
    JsonLineFields fields;
    TCC_RETURN_IF_ERROR(Expect('{'));
    if (!Takes('}')) {
      do {
        TCC_RETURN_IF_ERROR(ReadField(fields));
      } while (Takes(','));
      TCC_RETURN_IF_ERROR(Expect('}'));
    }
    SkipSpace();
    if (at_ < line_.size()) return Error("the end of the line");
    return fields;
  }

 private:
  Status Error(std::string_view expected) const {
    std::string came = at_ >= line_.size() ? "the end" : JsonString(line_.substr(at_, 1));
    return InvalidInput("column {}: expected {}; came {}", at_ + 1, expected, came);
  }

  void SkipSpace() {
    while (at_ < line_.size() && (line_[at_] == ' ' || line_[at_] == '\t')) ++at_;
  }

  char Peek() const { return at_ < line_.size() ? line_[at_] : '\0'; }

  bool Takes(char wanted) {
    SkipSpace();
    if (at_ >= line_.size() || line_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  bool TakesWord(std::string_view word) {
    if (!line_.substr(at_).starts_with(word)) return false;
    at_ += word.size();
    return true;
  }

  Status Expect(char wanted) {
    return Takes(wanted) ? OkStatus() : Error(fmt::format("'{}'", wanted));
  }

  Status ReadField(JsonLineFields& fields) {
    TCC_ASSIGN_OR_RETURN(std::string name, ReadString());
    if (fields.Has(name)) return Error("a name that is new before here");
    TCC_RETURN_IF_ERROR(Expect(':'));
    TCC_ASSIGN_OR_RETURN(fields.values_[name], ReadValue());
    return OkStatus();
  }

  StatusOr<JsonLineFields::Value> ReadValue() {
    SkipSpace();
    if (TakesWord("true")) return JsonLineFields::Value(true);
    if (TakesWord("false")) return JsonLineFields::Value(false);
    if (Peek() == '[') return ReadStrings();
    if (Peek() == '"') {
      TCC_ASSIGN_OR_RETURN(std::string text, ReadString());
      return JsonLineFields::Value(std::move(text));
    }
    return ReadNumber();
  }

  StatusOr<JsonLineFields::Value> ReadStrings() {
    std::vector<std::string> texts;
    TCC_RETURN_IF_ERROR(Expect('['));
    if (Takes(']')) return JsonLineFields::Value(texts);
    do {
      TCC_ASSIGN_OR_RETURN(std::string text, ReadString());
      texts.push_back(std::move(text));
    } while (Takes(','));
    TCC_RETURN_IF_ERROR(Expect(']'));
    return JsonLineFields::Value(std::move(texts));
  }

  bool TakesDigits() {
    size_t begin = at_;
    while (IsDigit(Peek())) ++at_;
    return at_ > begin;
  }

  StatusOr<JsonLineFields::Value> ReadNumber() {
    size_t begin = at_;
    if (Peek() == '-') ++at_;
    size_t digits = at_;
    if (!TakesDigits()) return Error("a value");
    if (line_[digits] == '0' && at_ > digits + 1) return Error("a number without leading zeros");
    if (TakesWord(".") && !TakesDigits()) return Error("a digit");
    if (Peek() == 'e' || Peek() == 'E') {
      ++at_;
      if (Peek() == '+' || Peek() == '-') ++at_;
      if (!TakesDigits()) return Error("a digit");
    }
    return JsonLineFields::Value(
        JsonLineFields::Number{std::string(line_.substr(begin, at_ - begin))});
  }

  StatusOr<std::string> ReadString() {
    TCC_RETURN_IF_ERROR(Expect('"'));
    std::string text;
    while (Peek() != '"') {
      if (at_ >= line_.size() || static_cast<unsigned char>(line_[at_]) < 0x20) {
        return Error("a character of a string");
      }
      if (Peek() == '\\') {
        TCC_RETURN_IF_ERROR(ReadEscape(text));
        continue;
      }
      size_t length = Utf8Length(line_.substr(at_));
      if (length == 0) return Error("UTF-8");
      text += line_.substr(at_, length);
      at_ += length;
    }
    ++at_;
    return text;
  }

  Status ReadEscape(std::string& text) {
    ++at_;
    if (!TakesWord("u")) {
      std::optional<char> meaning = Unescaped(Peek());
      if (!meaning) return Error("an escape");
      text += *meaning;
      ++at_;
      return OkStatus();
    }
    TCC_ASSIGN_OR_RETURN(uint32_t code, ReadFourDigits());
    if (code >= 0xd800 && code < 0xdc00 && TakesWord("\\u")) {
      TCC_ASSIGN_OR_RETURN(uint32_t low, ReadFourDigits());
      if (low < 0xdc00 || low >= 0xe000) return Error("a low surrogate before here");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) return Error("a pair of surrogates before here");
    text += ToUtf8(code);
    return OkStatus();
  }

  StatusOr<uint32_t> ReadFourDigits() {
    std::string_view digits = line_.substr(at_, 4);
    uint32_t code = 0;
    auto [stop, error] = std::from_chars(digits.data(), digits.data() + digits.size(), code, 16);
    bool good = error == std::errc() && digits.size() == 4 && stop == digits.data() + 4;
    if (!good) return Error("four hexadecimal digits");
    at_ += 4;
    return code;
  }

  std::string_view line_;
  size_t at_ = 0;
};

StatusOr<JsonLineFields> ParseJsonLine(std::string_view line) {
  return JsonLineReader(line).Read();
}

}  // namespace tcc
