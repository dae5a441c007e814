#include "ir/text/token_cursor.h"

#include <charconv>

namespace tcc {

Token TokenCursor::Take() {
  Token token = tokens_[at_];
  if (at_ + 1 < tokens_.size()) ++at_;
  return token;
}

bool TokenCursor::Accept(std::string_view text) {
  if (!At(text)) return false;
  Take();
  return true;
}

Status TokenCursor::Expect(std::string_view text) {
  if (Accept(text)) return OkStatus();
  return Unexpected(fmt::format("'{}'", text));
}

StatusOr<Token> TokenCursor::Name(std::string_view what) {
  const Token& token = Peek();
  bool plain = token.kind == TokenKind::kName && !IsKeyword(token.text);
  if (!plain && token.kind != TokenKind::kQuoted) return Unexpected(what);
  return Take();
}

StatusOr<int64_t> TokenCursor::Integer(std::string_view what, int64_t low, int64_t high) {
  Token first = Peek();
  std::string text = Accept("-") ? "-" : "";
  if (Peek().kind != TokenKind::kInteger) return Unexpected(what);
  text += Take().text;
  int64_t value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value < low || value > high) {
    return InvalidInput("{}expected {} from {} to {}, found {}", Position(first), what, low, high,
                        text);
  }
  return value;
}

Status TokenCursor::Unexpected(std::string_view what) const {
  return InvalidInput("{}expected {}, found {}", Position(Peek()), what, Describe(Peek()));
}

Status Nesting::Check() const {
  if (cursor_.nesting_ <= kMaxNesting) return OkStatus();
  return InvalidInput("{}expected at most {} levels of nesting", Position(cursor_.Peek()),
                      kMaxNesting);
}

}  // namespace tcc
