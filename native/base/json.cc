#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <new>

namespace trellis::json {

namespace {

constexpr int kMaxDepth = 64;
// So that a distance within a document fits 32 bits and a length 29.
constexpr size_t kMaxText = 256 * 1024 * 1024;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The length of the well-formed UTF-8 sequence at the start of `s`, or 0.
size_t Utf8Length(std::string_view s) {
  auto byte = [&](size_t i) { return i < s.size() ? static_cast<uint8_t>(s[i]) : 0; };
  auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return tail(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    if (lead == 0xE0 && byte(1) < 0xA0) return 0;
    if (lead == 0xED && byte(1) > 0x9F) return 0;  // surrogates
    return tail(1) && tail(2) ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    if (lead == 0xF0 && byte(1) < 0x90) return 0;
    if (lead == 0xF4 && byte(1) > 0x8F) return 0;
    return tail(1) && tail(2) && tail(3) ? 4 : 0;
  }
  return 0;
}

char* PutUtf8(char* to, uint32_t point) {
  const auto put = [&](uint32_t bits) { *to++ = static_cast<char>(bits); };
  if (point < 0x80) {
    put(point);
  } else if (point < 0x800) {
    put(0xC0 | point >> 6);
    put(0x80 | (point & 0x3F));
  } else if (point < 0x10000) {
    put(0xE0 | point >> 12);
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  } else {
    put(0xF0 | point >> 18);
    put(0x80 | (point >> 12 & 0x3F));
    put(0x80 | (point >> 6 & 0x3F));
    put(0x80 | (point & 0x3F));
  }
  return to;
}

// Up to 18 digits always fit.
bool FitsInteger(std::string_view text) {
  int64_t number = 0;
  return text.size() <= 18 || std::from_chars(text.data(), text.data() + text.size(), number).ec == std::errc();
}

// No fewer than the values and names of the text. Each but the first follows a mark of its own, and each has a character
// of its own, unless it is a list that the text does not close; and of those there are no more than it may be deep.
size_t CountNodes(std::string_view text) {
  size_t marks = 0;
  for (const char c : text) marks += c == ',' || c == ':' || c == '[' || c == '{';
  return std::min(marks + 1, text.size() / 2 + kMaxDepth);
}

}  // namespace

// Writes the nodes of a text in one pass. The text ends with a NUL, which no rule allows there: no look needs a bound.
class Parser {
 public:
  Parser(Value* nodes, size_t room, char* text, size_t size) : nodes_(nodes), room_(room), text_(text), size_(size) {}

  void Parse() {
    ParseValue(0);
    SkipSpace();
    if (at_ != size_) Fail("unexpected text after the JSON value");
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const { throw ParseError(what, line_, at_ - lineStart_ + 1); }

  char Peek() const { return text_[at_]; }
  bool IsAtEnd() const { return at_ >= size_; }

  // Line feeds stand between values only, so they are counted here alone.
  void SkipSpace() {
    while (true) {
      const char c = Peek();
      if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return;
      ++at_;
      if (c != '\n') continue;
      ++line_;
      lineStart_ = at_;
    }
  }

  void Expect(char c) {
    SkipSpace();
    if (Peek() != c) {
      if (IsAtEnd()) Fail("unexpected end of the JSON text");
      Fail(std::string("expected '") + c + "'");
    }
    ++at_;
  }

  Value* Reserve() {
    if (used_ == room_) Fail("more values than the text has room for");
    return nodes_ + used_++;
  }

  void Put(Type type, uint32_t size) { new (Reserve()) Value(type, size, 0); }

  // A string or a number: `size` bytes of the text from `start` on.
  void PutText(Type type, size_t start, size_t size) {
    Value* node = Reserve();
    const auto reach = (text_ + start) - reinterpret_cast<const char*>(node);
    new (node) Value(type, static_cast<uint32_t>(size), static_cast<uint32_t>(reach));
  }

  void ParseValue(int depth) {
    if (depth > kMaxDepth) Fail("nested too deeply");
    SkipSpace();
    if (IsAtEnd()) Fail("unexpected end of the JSON text");
    switch (Peek()) {
      case '{':
        return ParseList(Type::Object, '}', [&] { ParseMember(depth); });
      case '[':
        return ParseList(Type::Array, ']', [&] { ParseValue(depth + 1); });
      case '"':
        return ParseString();
      case 't':
        return Literal("true", Type::Bool, true);
      case 'f':
        return Literal("false", Type::Bool, false);
      case 'n':
        return Literal("null", Type::Null, false);
      default:
        return ParseNumber();
    }
  }

  void Literal(std::string_view word, Type type, bool boolean) {
    if (std::string_view(text_ + at_, size_ - at_).substr(0, word.size()) != word) Fail("unexpected character");
    at_ += word.size();
    Put(type, boolean);
  }

  template <class ParseOne>
  void ParseList(Type type, char close, ParseOne parseOne) {
    Value* const list = Reserve();
    uint32_t count = 0;
    ++at_;
    SkipSpace();
    if (Peek() == close) {
      ++at_;
    } else {
      for (bool more = true; more; ++count) {
        parseOne();
        SkipSpace();
        more = Peek() == ',';
        if (more) ++at_;
        else Expect(close);
      }
    }
    new (list) Value(type, count, static_cast<uint32_t>(nodes_ + used_ - list));
  }

  void ParseMember(int depth) {
    SkipSpace();
    if (Peek() != '"') Fail("expected a member name in double quotes");
    ParseString();
    Expect(':');
    ParseValue(depth + 1);
  }

  void ParseString() {
    const size_t start = ++at_;
    SkipPlain();
    if (Peek() == '\\') return ParseEscapedString(start);
    PutText(Type::String, start, at_++ - start);
  }

  // To the quote or the backslash that comes next.
  void SkipPlain() {
    while (true) {
      const uint8_t c = static_cast<uint8_t>(text_[at_]);
      if (c == '"' || c == '\\') return;
      if (c < 0x20) Fail(IsAtEnd() ? "a string is not closed" : "a control character inside a string must be escaped");
      const size_t length = c < 0x80 ? 1 : Utf8Length({text_ + at_, size_ - at_});
      if (length == 0) Fail("a string is not valid UTF-8");
      at_ += length;
    }
  }

  // What an escape stands for is shorter than the escape, so it is written over the text read already.
  void ParseEscapedString(size_t start) {
    char* to = text_ + at_;
    while (Peek() == '\\') {
      ++at_;
      to = ParseEscape(to);
      const size_t from = at_;
      SkipPlain();
      to = std::copy(text_ + from, text_ + at_, to);
    }
    ++at_;
    PutText(Type::String, start, to - (text_ + start));
  }

  char* ParseEscape(char* to) {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const char c = Peek();
    if (const size_t i = kFrom.find(c); i != std::string_view::npos) {
      ++at_;
      *to = kTo[i];
      return to + 1;
    }
    if (c != 'u') Fail("unknown escape in a string");
    ++at_;
    uint32_t point = ParseHex4();
    if (point >= 0xDC00 && point <= 0xDFFF) Fail("a lone surrogate in a string");
    if (point >= 0xD800 && point <= 0xDBFF) {
      if (Peek() != '\\' || text_[at_ + 1] != 'u') Fail("a lone surrogate in a string");
      at_ += 2;
      const uint32_t low = ParseHex4();
      if (low < 0xDC00 || low > 0xDFFF) Fail("a lone surrogate in a string");
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    return PutUtf8(to, point);
  }

  uint32_t ParseHex4() {
    uint32_t value = 0;
    if (at_ + 4 > size_) Fail("a \\u escape needs four hexadecimal digits");
    const char* from = text_ + at_;
    const auto [end, error] = std::from_chars(from, from + 4, value, 16);
    if (error != std::errc() || end != from + 4) Fail("a \\u escape needs four hexadecimal digits");
    at_ += 4;
    return value;
  }

  void ParseNumber() {
    size_t end = at_;
    const auto digit = [&] { return IsDigit(text_[end]); };
    if (text_[end] == '-') ++end;
    if (!digit()) Fail("unexpected character");
    if (text_[end] == '0') ++end;
    else
      while (digit()) ++end;
    bool whole = true;
    if (text_[end] == '.') {
      whole = false;
      ++end;
      if (!digit()) Fail("a number needs a digit after its point");
      while (digit()) ++end;
    }
    if (text_[end] == 'e' || text_[end] == 'E') {
      whole = false;
      ++end;
      if (text_[end] == '+' || text_[end] == '-') ++end;
      if (!digit()) Fail("a number needs a digit in its exponent");
      while (digit()) ++end;
    }
    whole = whole && FitsInteger({text_ + at_, end - at_});
    PutText(whole ? Type::Integer : Type::Real, at_, end - at_);
    at_ = end;
  }

  Value* nodes_;
  size_t room_;
  size_t used_ = 0;
  char* text_;
  size_t size_;
  size_t at_ = 0;
  size_t line_ = 1;
  size_t lineStart_ = 0;
};

int64_t Value::integer() const {
  int64_t number = 0;
  if (!IsInteger()) return number;
  const std::string_view text = Text();
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

double Value::real() const {
  double number = 0;
  if (type() != Type::Real) return number;
  const std::string_view text = Text();
  // Out of range: strtod, unlike from_chars, tells what is too large from what is too small.
  if (std::from_chars(text.data(), text.data() + text.size(), number).ec != std::errc())
    number = strtod(std::string(text).c_str(), nullptr);
  return number;
}

const Value* Value::Find(std::string_view name) const {
  const Value* found = nullptr;
  for (const auto& [known, value] : members())
    if (known == name) found = &value;
  return found;
}

ParseError::ParseError(const std::string& what, size_t line, size_t column)
    : std::runtime_error("line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what),
      line_(line),
      column_(column) {}

Document::Document(std::string_view text) {
  if (text.size() > kMaxText) throw ParseError("the JSON text is larger than 256 MiB", 1, 1);
  const size_t room = CountNodes(text);
  memory_ = std::make_unique_for_overwrite<std::byte[]>(room * sizeof(Value) + text.size() + 1);
  char* const copy = reinterpret_cast<char*>(memory_.get()) + room * sizeof(Value);
  *std::copy(text.begin(), text.end(), copy) = '\0';
  Parser(reinterpret_cast<Value*>(memory_.get()), room, copy, text.size()).Parse();
}

void Writer::Separate() {
  if (afterKey_) {
    afterKey_ = false;
  } else if (!fresh_) {
    out_ += ',';
  }
  fresh_ = false;
}

void Writer::Key(std::string_view name) {
  Separate();
  Quote(name);
  out_ += ':';
  afterKey_ = true;
}

void Writer::String(std::string_view text) {
  Separate();
  Quote(text);
}

void Writer::Integer(int64_t value) {
  Separate();
  out_ += std::to_string(value);
}

void Writer::Unsigned(uint64_t value) {
  Separate();
  out_ += std::to_string(value);
}

// Bytes that are not UTF-8 (an interface alias may hold any) become U+FFFD, so that the output is always valid JSON.
void Writer::Quote(std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  out_ += '"';
  for (size_t i = 0; i < text.size();) {
    const uint8_t c = static_cast<uint8_t>(text[i]);
    if (c == '"' || c == '\\') {
      out_ += '\\';
      out_ += static_cast<char>(c);
      ++i;
    } else if (c < 0x20) {
      out_ += "\\u00";
      out_ += kHex[c >> 4];
      out_ += kHex[c & 15];
      ++i;
    } else if (const size_t length = Utf8Length(text.substr(i)); length == 0) {
      out_ += "\xEF\xBF\xBD";
      ++i;
    } else {
      out_ += text.substr(i, length);
      i += length;
    }
  }
  out_ += '"';
}

}  // namespace trellis::json
