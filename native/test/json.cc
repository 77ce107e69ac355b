// The JSON reader and writer.
#include "base/json.h"

#include <sanitizer/allocator_interface.h>

#include <cmath>

#include "test/check.h"

using namespace trellis;
using json::Document;
using json::ParseError;
using json::Type;

namespace {

// "line:column what" of the error that the text gives.
std::string ErrorOf(const std::string& text) {
  try {
    Document{text};
  } catch (const ParseError& error) {
    const std::string what = error.what();
    return std::to_string(error.line()) + ":" + std::to_string(error.column()) + what.substr(what.find(": ") + 1);
  }
  return "none";
}

std::string Quoted(std::string_view text) {
  json::Writer to;
  to.String(text);
  return to.Take();
}

// What the body asks of the allocator on this thread.
class Counted {
 public:
  template <class Body>
  explicit Counted(Body body) {
    Install();
    current_ = this;
    body();
    current_ = nullptr;
  }
  ~Counted() { current_ = nullptr; }
  size_t allocations = 0;
  size_t bytes = 0;

 private:
  static void Install() { [[maybe_unused]] static const int once = __sanitizer_install_malloc_and_free_hooks(OnMalloc, OnFree); }
  static void OnMalloc(const volatile void*, size_t size) {
    if (current_ == nullptr) return;
    ++current_->allocations;
    current_->bytes += size;
  }
  static void OnFree(const volatile void*) {}
  static thread_local Counted* current_;
};
thread_local Counted* Counted::current_ = nullptr;

}  // namespace

TEST("JSON of every type is read") {
  const Document document(
      " {\"n\": null, \"t\":true,\"f\":false,\"i\":-12,\"r\":1.5e1,\"s\":\"x\",\"a\":[1,[ ]],\"o\":{}}\r\n\t");
  const auto& root = document.root();
  CHECK(root.IsObject());
  CHECK(root.Find("n")->IsNull());
  CHECK(root.Find("t")->boolean() && !root.Find("f")->boolean());
  CHECK_EQUAL(root.Find("i")->integer(), -12);
  CHECK_EQUAL(root.Find("r")->real(), 15.0);
  CHECK_EQUAL(root.Find("s")->string(), "x");
  CHECK_EQUAL(root.Find("a")->items().size(), 2u);
  CHECK(root.Find("o")->IsObject() && root.Find("o")->members().empty());
  CHECK(root.Find("absent") == nullptr);
}

TEST("asked for what it is not, a value is empty, zero or false") {
  const Document document(R"([null,true,7,7.5,"s",[1],{"a":1}])");
  for (const auto& value : document.root().items()) {
    CHECK_EQUAL(value.boolean(), value.IsBool());
    CHECK_EQUAL(value.integer(), value.IsInteger() ? 7 : 0);
    CHECK_EQUAL(value.real(), value.type() == Type::Real ? 7.5 : 0);
    CHECK_EQUAL(value.string(), value.IsString() ? "s" : "");
    CHECK_EQUAL(value.items().size(), value.IsArray() ? 1u : 0u);
    CHECK_EQUAL(value.members().size(), value.IsObject() ? 1u : 0u);
    CHECK(value.items().begin() == value.items().end() || value.IsArray());
    CHECK(value.members().begin() == value.members().end() || value.IsObject());
    CHECK((value.Find("a") != nullptr) == value.IsObject());
  }
}

TEST("items and members are walked in order, over what is nested in them") {
  const Document document(R"([[1,[2]],{"a":{"b":[]}},3])");
  std::string walked;
  for (const auto& item : document.root().items())
    walked += std::to_string(item.items().size()) + std::to_string(item.members().size()) + std::to_string(item.integer()) + " ";
  CHECK_EQUAL(walked, "200 010 003 ");
  const Document object(R"({"x":[1,2],"y":{"z":0},"x":"\n"})");
  walked.clear();
  for (const auto& [name, value] : object.root().members())
    walked += std::string(name) + std::to_string(static_cast<int>(value.type())) + " ";
  CHECK_EQUAL(walked, "x5 y6 x4 ");
}

TEST("of two members with one name the last counts") {
  CHECK_EQUAL(Document("{\"a\":1,\"a\":2}").root().Find("a")->integer(), 2);
}

TEST("whole numbers keep 64 bits, larger ones become real") {
  CHECK_EQUAL(Document("9223372036854775807").root().integer(), INT64_MAX);
  CHECK_EQUAL(Document("-9223372036854775808").root().integer(), INT64_MIN);
  CHECK(Document("9223372036854775808").root().type() == Type::Real);
  CHECK(Document("-0").root().IsInteger());
}

TEST("reals out of range become infinite or zero, with their sign") {
  CHECK_EQUAL(Document("1e999").root().real(), HUGE_VAL);
  CHECK_EQUAL(Document("-1e999").root().real(), -HUGE_VAL);
  CHECK_EQUAL(Document("1e-999").root().real(), 0.0);
}

TEST("escapes and surrogate pairs become UTF-8") {
  const Document escaped(R"("\"\\\/\b\f\n\r\té\u20ac\ud83d\ude00z")");
  CHECK_EQUAL(escaped.root().string(), "\"\\/\b\f\n\r\t\u00e9\u20ac\U0001F600z");
  const Document nul(R"("a\u0000b")");
  CHECK_EQUAL(nul.root().string().size(), 3u);
}

TEST("every JSON error tells its line and column") {
  const std::pair<std::string, std::string> cases[] = {
      {"", "1:1 unexpected end of the JSON text"},
      {"  ", "1:3 unexpected end of the JSON text"},
      {"[1,", "1:4 unexpected end of the JSON text"},
      {"[1", "1:3 unexpected end of the JSON text"},
      {"[1 2]", "1:4 expected ']'"},
      {"{\"a\" 1}", "1:6 expected ':'"},
      {"{\"a\":1 \"b\"", "1:8 expected '}'"},
      {"{\"a\":1,}", "1:8 expected a member name in double quotes"},
      {"{1:2}", "1:2 expected a member name in double quotes"},
      {"{\n\"a\":\n  tru}", "3:3 unexpected character"},
      {"nul", "1:1 unexpected character"},
      {"[x]", "1:2 unexpected character"},
      {"-", "1:1 unexpected character"},
      {"+1", "1:1 unexpected character"},
      {"01", "1:2 unexpected text after the JSON value"},
      {"1.", "1:1 a number needs a digit after its point"},
      {"1e+", "1:1 a number needs a digit in its exponent"},
      {"1 1", "1:3 unexpected text after the JSON value"},
      {"\"abc", "1:5 a string is not closed"},
      {"\"a\\", "1:4 unknown escape in a string"},
      {"\"a\\\"", "1:5 a string is not closed"},
      {"\"a\nb\"", "1:3 a control character inside a string must be escaped"},
      {"\"\\x\"", "1:3 unknown escape in a string"},
      {"\"\\u12\"", "1:4 a \\u escape needs four hexadecimal digits"},
      {"\"\\u12g4\"", "1:4 a \\u escape needs four hexadecimal digits"},
      {"\"\\u-123\"", "1:4 a \\u escape needs four hexadecimal digits"},
      {"\"\\ud800\"", "1:8 a lone surrogate in a string"},
      {"\"\\ud800\\u0041\"", "1:14 a lone surrogate in a string"},
      {"\"\\udc00\"", "1:8 a lone surrogate in a string"},
  };
  for (const auto& [text, expected] : cases) CHECK_EQUAL(text + " -> " + ErrorOf(text), text + " -> " + expected);
}

TEST("a string that is not UTF-8 is refused") {
  for (const char* bytes : {"\x80", "\xC0\x80", "\xC1\xBF", "\xE0\x80\x80", "\xED\xA0\x80", "\xF0\x80\x80\x80",
                            "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3", "\xE2\x82", "\xF0\x9F\x98"}) {
    CHECK_EQUAL(ErrorOf("\"" + std::string(bytes) + "\""), "1:2 a string is not valid UTF-8");
    CHECK_EQUAL(ErrorOf("\"\\n" + std::string(bytes) + "\""), "1:4 a string is not valid UTF-8");
  }
  for (const char* bytes : {"\x7F", "\xC2\x80", "\xED\x9F\xBF", "\xEE\x80\x80", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"})
    CHECK_EQUAL(ErrorOf("\"" + std::string(bytes) + "\""), "none");
}

TEST("JSON may be nested 65 deep and no deeper") {
  CHECK_EQUAL(ErrorOf(std::string(65, '[') + std::string(65, ']')), "none");
  CHECK_EQUAL(ErrorOf(std::string(66, '[') + std::string(66, ']')), "1:66 nested too deeply");
  CHECK_EQUAL(ErrorOf(std::string(1'000'000, '[')), "1:66 nested too deeply");
}

TEST("lines are counted behind strings with escapes too") {
  CHECK_EQUAL(ErrorOf("[\"\\n\\n\\u000a\",\n x]"), "2:2 unexpected character");
}

TEST("a document costs one allocation, of at most five times its text") {
  const size_t size = 1 << 20;
  const auto repeated = [&](const std::string& open, const std::string& one, const std::string& close) {
    std::string text = open;
    while (text.size() < size) text += one + ",";
    return text + one + close;
  };
  const std::string inputs[] = {
      repeated("[", "0", "]"),        repeated("[", "[]", "]"),
      repeated("[", "\"\"", "]"),     repeated("[", "\"\\n\"", "]"),
      repeated("{", "\"\":{}", "}"),  repeated("{", "\"\":0", "}"),
      repeated("[", "{\"\":0}", "]"), "\"" + std::string(size, ',') + "\"",
      repeated("[", "true", "]"),     repeated("[", "1e9", "]"),
  };
  for (const std::string& text : inputs) {
    const Counted counted([&] { Document{text}; });
    CHECK_EQUAL(counted.allocations, 1u);
    CHECK(counted.bytes <= 5 * text.size() + 1024);
  }
  // One that is refused at its end costs the words of the error besides.
  const std::string open = repeated("[", "0", "");
  const Counted refused([&] { ErrorOf(open); });
  CHECK(refused.bytes <= 5 * open.size() + 1024);
}

TEST("the writer separates, quotes and closes") {
  json::Writer to;
  to.BeginObject();
  to.Key("a");
  to.BeginArray();
  to.Integer(-1);
  to.Unsigned(UINT64_MAX);
  to.Bool(true);
  to.Null();
  to.Raw("{\"x\":1}");
  to.BeginArray();
  to.EndArray();
  to.EndArray();
  to.Key("b");
  to.String("c");
  to.EndObject();
  CHECK_EQUAL(to.Take(), R"({"a":[-1,18446744073709551615,true,null,{"x":1},[]],"b":"c"})");
  to.BeginArray();
  to.EndArray();
  CHECK_EQUAL(to.Take(), "[]");
}

TEST("the writer makes a valid string of any bytes") {
  CHECK_EQUAL(Quoted("a\"b\\c\x01\x1F/"), "\"a\\\"b\\\\c\\u0001\\u001f/\"");
  CHECK_EQUAL(Quoted("\xFFx\xC3"), "\"\xEF\xBF\xBDx\xEF\xBF\xBD\"");
  CHECK_EQUAL(Quoted(std::string_view("\0", 1)), "\"\\u0000\"");
  CHECK_EQUAL(Quoted("\U0001F600"), "\"\U0001F600\"");
}
