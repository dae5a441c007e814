#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text/lexer.h"

namespace tcc {

// The deepest nesting of brackets, bodies and functions that is accepted.
inline constexpr int kMaxNesting = 256;
// The deepest tree of an expression, or of a list of lets and allocs, that is accepted. Both limits
// keep the recursions of parser and passes within a stack of 8 MiB, sanitizers included.
inline constexpr int kMaxDepth = 1000;

// A cursor over tokens. Words and punctuation are matched by their text; quoted tokens never match.
class TokenCursor {
 public:
  // Expects kEnd as the last token, as Lex gives it.
  explicit TokenCursor(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}

  const Token& Peek() const { return tokens_[at_]; }
  const Token& PeekNext() const { return tokens_[std::min(at_ + 1, tokens_.size() - 1)]; }
  Token Take();
  bool At(std::string_view text) const { return Matches(Peek(), text); }
  // Takes the token if it is `text`.
  bool Accept(std::string_view text);
  Status Expect(std::string_view text);

  // Takes a name, which is quoted or no keyword.
  StatusOr<Token> Name(std::string_view what);
  // Takes an integer with an optional minus; refuses numbers outside [low, high].
  StatusOr<int64_t> Integer(std::string_view what, int64_t low, int64_t high);

  // Returns the error "line 1, column 2: expected WHAT, found 'x'".
  Status Unexpected(std::string_view what) const;

  static bool Matches(const Token& token, std::string_view text) {
    bool word = token.kind == TokenKind::kName || token.kind == TokenKind::kPunct;
    return word && token.text == text;
  }

 private:
  friend class Nesting;
  std::vector<Token> tokens_;
  size_t at_ = 0;
  int nesting_ = 0;
};

// A guard that adds one level of nesting while it lives.
class Nesting {
 public:
  explicit Nesting(TokenCursor& cursor) : cursor_(cursor) { ++cursor_.nesting_; }
  Nesting(const Nesting&) = delete;
  Nesting& operator=(const Nesting&) = delete;
  ~Nesting() { --cursor_.nesting_; }
  Status Check() const;

 private:
  TokenCursor& cursor_;
};

}  // namespace tcc
