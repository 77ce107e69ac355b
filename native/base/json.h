// JSON in and out: a strict RFC 8259 reader with line and column in its errors, and an append-only writer.
// Guarantees: bounded depth, no reads outside the text; strings without escapes are views into the source.
#pragma once
#include <cstdint>
#include <deque>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace trellis::json {

enum class Type : uint8_t { Null, Bool, Integer, Real, String, Array, Object };

struct Member;

struct Value {
  Type type = Type::Null;
  bool boolean = false;
  int64_t integer = 0;
  double real = 0;
  std::string_view string;
  std::vector<Value> items;
  std::vector<Member> members;

  bool IsNull() const { return type == Type::Null; }
  bool IsString() const { return type == Type::String; }
  bool IsInteger() const { return type == Type::Integer; }
  bool IsArray() const { return type == Type::Array; }
  bool IsObject() const { return type == Type::Object; }

  // The member of that name, or null. The last one wins, as in JavaScript.
  const Value* Find(std::string_view name) const;
};

// A member of an object: its name and its value.
struct Member {
  std::string_view first;
  Value second;
};

class ParseError : public std::runtime_error {
 public:
  ParseError(const std::string& what, size_t line, size_t column);
  size_t line() const { return line_; }
  size_t column() const { return column_; }

 private:
  size_t line_;
  size_t column_;
};

// Owns the text that the values point into; not movable, so that the views stay valid.
class Document {
 public:
  explicit Document(std::string text);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  const Value& root() const { return root_; }

 private:
  friend class Parser;
  std::string text_;
  std::deque<std::string> unescaped_;
  Value root_;
};

class Writer {
 public:
  void BeginObject() { Separate(); out_ += '{'; fresh_ = true; }
  void EndObject() { out_ += '}'; fresh_ = false; }
  void BeginArray() { Separate(); out_ += '['; fresh_ = true; }
  void EndArray() { out_ += ']'; fresh_ = false; }
  void Key(std::string_view name);
  void String(std::string_view text);
  void Integer(int64_t value);
  void Unsigned(uint64_t value);
  void Bool(bool value) { Separate(); out_ += value ? "true" : "false"; }
  void Null() { Separate(); out_ += "null"; }
  // Splices bytes that are JSON already.
  void Raw(std::string_view bytes) { Separate(); out_ += bytes; }

  size_t size() const { return out_.size(); }
  std::string Take() { fresh_ = true; return std::exchange(out_, {}); }

 private:
  void Separate();
  void Quote(std::string_view text);
  std::string out_;
  bool fresh_ = true;
  bool afterKey_ = false;
};

}  // namespace trellis::json
