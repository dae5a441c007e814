#include "ir/text/lexer.h"

#include <absl/strings/ascii.h>

#include <algorithm>
#include <iterator>

namespace tcc {
namespace {

constexpr std::string_view kKeywords[] = {
    "alloc",    "async_commit", "async_copy", "async_wait", "barrier", "block",    "blocks",
    "circular", "combiner",     "constant",   "div",        "else",    "false",    "fn",
    "for",      "global",       "guard",      "if",         "in",      "inf",      "intrinsic",
    "let",      "local",        "mask",       "mod",        "nan",     "offset",   "prefetch",
    "reduce",   "shared",       "strides",    "swizzle",    "true",    "versions", "warp",
    "where",    "window",
};

// The punctuation; the longest comes first where one is a prefix of another.
constexpr std::string_view kPuncts[] = {
    "..=", "..", "==", "!=", "<=", ">=", "&&", "||", "(", ")", "[", "]", "{",
    "}",   ",",  ";",  ":",  "=",  "<",  ">",  "+",  "-", "*", "/", "!",
};

bool IsNameStart(char c) {
  return absl::ascii_isalpha(c) || c == '_';
}
bool IsNameChar(char c) {
  return absl::ascii_isalnum(c) || c == '_';
}
bool IsKeyChar(char c) {
  return IsNameChar(c) || c == '.' || c == '/' || c == '-';
}

// Returns the length of the name at the start of `text`; a point belongs to it if another part of a
// name follows.
size_t NameLength(std::string_view text) {
  if (text.empty() || !IsNameStart(text[0])) return 0;
  size_t n = 1;
  while (n < text.size()) {
    bool point = text[n] == '.' && n + 1 < text.size() && IsNameChar(text[n + 1]);
    if (!IsNameChar(text[n]) && !point) break;
    ++n;
  }
  return n;
}

int HexDigit(char c) {
  if (absl::ascii_isdigit(c)) return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  StatusOr<std::vector<Token>> Run() {
    std::vector<Token> tokens;
    for (;;) {
      SkipBlank();
      TCC_ASSIGN_OR_RETURN(Token token, Next());
      tokens.push_back(std::move(token));
      if (tokens.back().kind == TokenKind::kEnd) return tokens;
    }
  }

 private:
  char Peek(size_t ahead = 0) const {
    return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0';
  }

  void Advance(size_t n) {
    for (; n > 0; --n, ++at_) {
      if (text_[at_] == '\n') {
        ++line_;
        column_ = 0;
      }
      ++column_;
    }
  }

  void SkipBlank() {
    while (at_ < text_.size()) {
      char c = Peek();
      if (c == '/' && Peek(1) == '/') {
        Advance(std::min(text_.find('\n', at_), text_.size()) - at_);
      } else if (c == ' ' || c == '\t' || c == '\n' || c == '\r') {
        Advance(1);
      } else {
        return;
      }
    }
  }

  StatusOr<Token> Next() {
    Token token{.kind = TokenKind::kEnd, .text = "", .line = line_, .column = column_};
    if (at_ == text_.size()) return token;
    char c = Peek();
    if (c == '"') return Quoted(std::move(token), TokenKind::kQuoted);
    if (c == '@') return Key(std::move(token));
    if (absl::ascii_isdigit(c)) return Number(std::move(token));
    if (size_t n = NameLength(text_.substr(at_)))
      return Take(std::move(token), TokenKind::kName, n);
    for (std::string_view punct : kPuncts) {
      if (text_.substr(at_).starts_with(punct)) {
        return Take(std::move(token), TokenKind::kPunct, punct.size());
      }
    }
    return InvalidInput("{}expected a token, found {}", Position(token),
                        Quote(text_.substr(at_, 1)));
  }

  Token Take(Token token, TokenKind kind, size_t length) {
    token.kind = kind;
    token.text = text_.substr(at_, length);
    Advance(length);
    return token;
  }

  Token Number(Token token) {
    size_t n = 0;
    while (absl::ascii_isdigit(Peek(n))) ++n;
    TokenKind kind = TokenKind::kInteger;
    if (Peek(n) == '.' && absl::ascii_isdigit(Peek(n + 1))) {
      kind = TokenKind::kFloat;
      for (++n; absl::ascii_isdigit(Peek(n));) ++n;
    }
    if (Peek(n) == 'e') {
      size_t digits = Peek(n + 1) == '+' || Peek(n + 1) == '-' ? n + 2 : n + 1;
      if (absl::ascii_isdigit(Peek(digits))) {
        kind = TokenKind::kFloat;
        for (n = digits; absl::ascii_isdigit(Peek(n));) ++n;
      }
    }
    return Take(std::move(token), kind, n);
  }

  StatusOr<Token> Key(Token token) {
    Advance(1);
    if (Peek() == '"') return Quoted(std::move(token), TokenKind::kKey);
    size_t n = 0;
    while (IsKeyChar(Peek(n))) ++n;
    if (n == 0) return InvalidInput("{}expected a loop's key after '@'", Position(token));
    return Take(std::move(token), TokenKind::kKey, n);
  }

  StatusOr<Token> Quoted(Token token, TokenKind kind) {
    token.kind = kind;
    Advance(1);
    while (Peek() != '"') {
      if (at_ >= text_.size() || Peek() == '\n') {
        return InvalidInput("{}expected '\"' at the end of a string", Position(token));
      }
      if (Peek() == '\\') {
        TCC_RETURN_IF_ERROR(Escape(token));
      } else {
        token.text += Peek();
        Advance(1);
      }
    }
    Advance(1);
    return token;
  }

  Status Escape(Token& token) {
    char c = Peek(1);
    if (c == '"' || c == '\\') {
      token.text += c;
    } else if (c == 'n') {
      token.text += '\n';
    } else if (c == 'x' && HexDigit(Peek(2)) >= 0 && HexDigit(Peek(3)) >= 0) {
      token.text += static_cast<char>(HexDigit(Peek(2)) * 16 + HexDigit(Peek(3)));
      Advance(2);
    } else {
      return InvalidInput("line {}, column {}: expected an escape: \\\", \\\\, \\n or \\x00", line_,
                          column_);
    }
    Advance(2);
    return OkStatus();
  }

  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
  int column_ = 1;
};

}  // namespace

StatusOr<std::vector<Token>> Lex(std::string_view text) {
  return Lexer(text).Run();
}

std::string Position(const Token& token) {
  return fmt::format("line {}, column {}: ", token.line, token.column);
}

std::string Describe(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd:
      return "the end of the text";
    case TokenKind::kQuoted:
      return Quote(token.text);
    case TokenKind::kKey:
      return SpellKey(token.text);
    case TokenKind::kName:
    case TokenKind::kInteger:
    case TokenKind::kFloat:
    case TokenKind::kPunct:
      return "'" + token.text + "'";
  }
  return "";
}

bool IsKeyword(std::string_view word) {
  return std::find(std::begin(kKeywords), std::end(kKeywords), word) != std::end(kKeywords);
}

std::string SpellName(std::string_view name) {
  bool plain = !name.empty() && NameLength(name) == name.size() && !IsKeyword(name);
  return plain ? std::string(name) : Quote(name);
}

std::string Quote(std::string_view text) {
  std::string quoted = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (c == '\n') {
      quoted += "\\n";
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      quoted += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    } else {
      quoted += c;
    }
  }
  return quoted + '"';
}

std::string SpellKey(std::string_view key) {
  bool plain = !key.empty() && std::ranges::all_of(key, IsKeyChar);
  return "@" + (plain ? std::string(key) : Quote(key));
}

}  // namespace tcc
