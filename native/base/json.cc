#include "base/json.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace trellis::json {

namespace {

constexpr int kMaxDepth = 64;

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

void AppendUtf8(std::string& out, uint32_t point) {
  auto put = [&](uint32_t bits) { out += static_cast<char>(bits); };
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
}

}  // namespace

class Parser {
 public:
  explicit Parser(Document& document) : document_(document), text_(document.text_) {}

  Value Parse() {
    Value value = ParseValue(0);
    SkipSpace();
    if (at_ != text_.size()) Fail("unexpected text after the JSON value");
    return value;
  }

 private:
  [[noreturn]] void Fail(const std::string& what) const {
    const auto before = text_.substr(0, at_);
    const size_t line = 1 + std::count(before.begin(), before.end(), '\n');
    const size_t start = before.rfind('\n');
    throw ParseError(what, line, start == std::string_view::npos ? at_ + 1 : at_ - start);
  }

  char Peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }

  void SkipSpace() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
  }

  void Expect(char c) {
    SkipSpace();
    if (Peek() != c) {
      if (at_ >= text_.size()) Fail("unexpected end of the JSON text");
      Fail(std::string("expected '") + c + "'");
    }
    ++at_;
  }

  Value ParseValue(int depth) {
    if (depth > kMaxDepth) Fail("nested too deeply");
    SkipSpace();
    if (at_ >= text_.size()) Fail("unexpected end of the JSON text");
    switch (Peek()) {
      case '{':
        return ParseObject(depth);
      case '[':
        return ParseArray(depth);
      case '"': {
        Value value;
        value.type = Type::String;
        value.string = ParseString();
        return value;
      }
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

  Value Literal(std::string_view word, Type type, bool boolean) {
    if (text_.substr(at_, word.size()) != word) Fail("unexpected character");
    at_ += word.size();
    Value value;
    value.type = type;
    value.boolean = boolean;
    return value;
  }

  Value ParseObject(int depth) {
    Value value;
    value.type = Type::Object;
    ++at_;
    SkipSpace();
    if (Peek() == '}') return ++at_, value;
    while (true) {
      SkipSpace();
      if (Peek() != '"') Fail("expected a member name in double quotes");
      const std::string_view name = ParseString();
      Expect(':');
      value.members.push_back({name, ParseValue(depth + 1)});
      SkipSpace();
      if (Peek() == ',') {
        ++at_;
        continue;
      }
      Expect('}');
      return value;
    }
  }

  Value ParseArray(int depth) {
    Value value;
    value.type = Type::Array;
    ++at_;
    SkipSpace();
    if (Peek() == ']') return ++at_, value;
    while (true) {
      value.items.push_back(ParseValue(depth + 1));
      SkipSpace();
      if (Peek() == ',') {
        ++at_;
        continue;
      }
      Expect(']');
      return value;
    }
  }

  std::string_view ParseString() {
    const size_t start = ++at_;
    while (at_ < text_.size()) {
      const uint8_t c = static_cast<uint8_t>(text_[at_]);
      if (c == '"') return text_.substr(start, at_++ - start);
      if (c == '\\') return ParseEscapedString(start);
      Advance(c);
    }
    Fail("a string is not closed");
  }

  void Advance(uint8_t c) {
    if (c < 0x20) Fail("a control character inside a string must be escaped");
    const size_t length = c < 0x80 ? 1 : Utf8Length(text_.substr(at_));
    if (length == 0) Fail("a string is not valid UTF-8");
    at_ += length;
  }

  std::string_view ParseEscapedString(size_t start) {
    std::string& out = document_.unescaped_.emplace_back(text_.substr(start, at_ - start));
    while (at_ < text_.size()) {
      const uint8_t c = static_cast<uint8_t>(text_[at_]);
      if (c == '"') return ++at_, std::string_view(out);
      if (c == '\\') {
        ++at_;
        ParseEscape(out);
        continue;
      }
      const size_t from = at_;
      Advance(c);
      out += text_.substr(from, at_ - from);
    }
    Fail("a string is not closed");
  }

  void ParseEscape(std::string& out) {
    constexpr std::string_view kFrom = "\"\\/bfnrt";
    constexpr std::string_view kTo = "\"\\/\b\f\n\r\t";
    const char c = Peek();
    if (const size_t i = kFrom.find(c); c != '\0' && i != std::string_view::npos) {
      out += kTo[i];
      ++at_;
      return;
    }
    if (c != 'u') Fail("unknown escape in a string");
    ++at_;
    uint32_t point = ParseHex4();
    if (point >= 0xDC00 && point <= 0xDFFF) Fail("a lone surrogate in a string");
    if (point >= 0xD800 && point <= 0xDBFF) {
      if (text_.substr(at_, 2) != "\\u") Fail("a lone surrogate in a string");
      at_ += 2;
      const uint32_t low = ParseHex4();
      if (low < 0xDC00 || low > 0xDFFF) Fail("a lone surrogate in a string");
      point = 0x10000 + ((point - 0xD800) << 10) + (low - 0xDC00);
    }
    AppendUtf8(out, point);
  }

  uint32_t ParseHex4() {
    uint32_t value = 0;
    if (at_ + 4 > text_.size()) Fail("a \\u escape needs four hexadecimal digits");
    const char* from = text_.data() + at_;
    const auto [end, error] = std::from_chars(from, from + 4, value, 16);
    if (error != std::errc() || end != from + 4) Fail("a \\u escape needs four hexadecimal digits");
    at_ += 4;
    return value;
  }

  Value ParseNumber() {
    const size_t start = at_;
    size_t end = at_;
    auto digit = [&] { return end < text_.size() && IsDigit(text_[end]); };
    if (end < text_.size() && text_[end] == '-') ++end;
    if (!digit()) Fail("unexpected character");
    if (text_[end] == '0') ++end;
    else while (digit()) ++end;
    bool whole = true;
    if (end < text_.size() && text_[end] == '.') {
      whole = false;
      ++end;
      if (!digit()) Fail("a number needs a digit after its point");
      while (digit()) ++end;
    }
    if (end < text_.size() && (text_[end] == 'e' || text_[end] == 'E')) {
      whole = false;
      ++end;
      if (end < text_.size() && (text_[end] == '+' || text_[end] == '-')) ++end;
      if (!digit()) Fail("a number needs a digit in its exponent");
      while (digit()) ++end;
    }
    Value value;
    const char* from = text_.data() + start;
    const char* to = text_.data() + end;
    if (whole && std::from_chars(from, to, value.integer).ec == std::errc()) {
      value.type = Type::Integer;
    } else {
      value.type = Type::Real;
      // Out of range: strtod, unlike from_chars, tells what is too large from what is too small.
      if (std::from_chars(from, to, value.real).ec != std::errc()) value.real = strtod(std::string(from, to).c_str(), nullptr);
    }
    at_ = end;
    return value;
  }

  Document& document_;
  std::string_view text_;
  size_t at_ = 0;
};

const Value* Value::Find(std::string_view name) const {
  for (auto it = members.rbegin(); it != members.rend(); ++it)
    if (it->first == name) return &it->second;
  return nullptr;
}

ParseError::ParseError(const std::string& what, size_t line, size_t column)
    : std::runtime_error("line " + std::to_string(line) + ", column " + std::to_string(column) + ": " + what),
      line_(line),
      column_(column) {}

Document::Document(std::string text) : text_(std::move(text)) { root_ = Parser(*this).Parse(); }

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
