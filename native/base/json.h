// JSON in and out: a strict RFC 8259 reader with line and column in its errors, and an append-only writer.
// Guarantees: bounded depth, no reads outside the text; a document is one allocation of at most five times its text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace trellis::json {

enum class Type : uint8_t { Null, Bool, Integer, Real, String, Array, Object };

class Items;
class Members;

// A node of a document, eight bytes. Nodes lie in the order of the text: behind an array its items, behind an object the
// name and the value of each member, in turn. Strings and numbers stay in the text, whose place a node knows by the
// distance to itself; so values are referred to, never copied. Asked for what it is not, a value is empty, zero or false.
class Value {
 public:
  Value(const Value&) = delete;
  Value& operator=(const Value&) = delete;

  Type type() const { return static_cast<Type>(type_); }
  bool IsNull() const { return type() == Type::Null; }
  bool IsBool() const { return type() == Type::Bool; }
  bool IsString() const { return type() == Type::String; }
  bool IsInteger() const { return type() == Type::Integer; }
  bool IsArray() const { return type() == Type::Array; }
  bool IsObject() const { return type() == Type::Object; }

  bool boolean() const { return IsBool() && size_ != 0; }
  int64_t integer() const;
  double real() const;
  std::string_view string() const { return IsString() ? Text() : std::string_view(); }
  Items items() const;
  Members members() const;

  // The member of that name, or null. The last one wins, as in JavaScript.
  const Value* Find(std::string_view name) const;

 private:
  friend class Items;
  friend class Members;
  friend class Parser;
  Value(Type type, uint32_t size, uint32_t reach) : type_(static_cast<uint32_t>(type)), size_(size), reach_(reach) {}

  std::string_view Text() const { return {reinterpret_cast<const char*>(this) + reach_, size_}; }
  // The node behind this value and all that is in it.
  const Value* Next() const { return this + (type() >= Type::Array ? reach_ : 1); }

  uint32_t type_ : 3;
  uint32_t size_ : 29;  // bytes of text, or how many items or members
  uint32_t reach_;      // bytes from here to the text, or nodes to the next value
};
static_assert(sizeof(Value) == 8);

// The items of an array, in order.
class Items {
 public:
  class Iterator {
   public:
    explicit Iterator(const Value* at) : at_(at) {}
    const Value& operator*() const { return *at_; }
    Iterator& operator++() { return at_ = at_->Next(), *this; }
    bool operator==(const Iterator&) const = default;

   private:
    const Value* at_;
  };

  explicit Items(const Value& of) : of_(of) {}
  size_t size() const { return of_.IsArray() ? of_.size_ : 0; }
  bool empty() const { return size() == 0; }
  Iterator begin() const { return Iterator(empty() ? nullptr : &of_ + 1); }
  Iterator end() const { return Iterator(empty() ? nullptr : of_.Next()); }

 private:
  const Value& of_;
};

// A member of an object: its name and its value.
struct Member {
  std::string_view first;
  const Value& second;
};

// The members of an object, in order.
class Members {
 public:
  class Iterator {
   public:
    explicit Iterator(const Value* name) : name_(name) {}
    Member operator*() const { return {name_->Text(), name_[1]}; }
    Iterator& operator++() { return name_ = name_[1].Next(), *this; }
    bool operator==(const Iterator&) const = default;

   private:
    const Value* name_;
  };

  explicit Members(const Value& of) : of_(of) {}
  size_t size() const { return of_.IsObject() ? of_.size_ : 0; }
  bool empty() const { return size() == 0; }
  Iterator begin() const { return Iterator(empty() ? nullptr : &of_ + 1); }
  Iterator end() const { return Iterator(empty() ? nullptr : of_.Next()); }

 private:
  const Value& of_;
};

inline Items Value::items() const { return Items(*this); }
inline Members Value::members() const { return Members(*this); }

class ParseError : public std::runtime_error {
 public:
  ParseError(const std::string& what, size_t line, size_t column);
  size_t line() const { return line_; }
  size_t column() const { return column_; }

 private:
  size_t line_;
  size_t column_;
};

// Owns a copy of the text and the nodes that point into it.
class Document {
 public:
  explicit Document(std::string_view text);
  Document(const Document&) = delete;
  Document& operator=(const Document&) = delete;
  const Value& root() const { return *reinterpret_cast<const Value*>(memory_.get()); }

 private:
  // The nodes, then the text, its escapes decoded in place.
  std::unique_ptr<std::byte[]> memory_;
};

class Writer {
 public:
  void BeginObject() {
    Separate();
    out_ += '{';
    fresh_ = true;
  }
  void EndObject() {
    out_ += '}';
    fresh_ = false;
  }
  void BeginArray() {
    Separate();
    out_ += '[';
    fresh_ = true;
  }
  void EndArray() {
    out_ += ']';
    fresh_ = false;
  }
  void Key(std::string_view name);
  void String(std::string_view text);
  void Integer(int64_t value);
  void Unsigned(uint64_t value);
  void Bool(bool value) {
    Separate();
    out_ += value ? "true" : "false";
  }
  void Null() {
    Separate();
    out_ += "null";
  }
  // Splices bytes that are JSON already.
  void Raw(std::string_view bytes) {
    Separate();
    out_ += bytes;
  }

  size_t size() const { return out_.size(); }
  std::string Take() {
    fresh_ = true;
    return std::exchange(out_, {});
  }

 private:
  void Separate();
  void Quote(std::string_view text);
  std::string out_;
  bool fresh_ = true;
  bool afterKey_ = false;
};

}  // namespace trellis::json
