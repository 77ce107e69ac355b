// A test runner in a page: TEST("what holds") { CHECK(...); CHECK_EQUAL(a, b); CHECK_THROWS(InputError, "part of it",
// expression); } Guarantees: a failed check names its file, line and values and ends its own test only; others run all the same.
#pragma once
#include <functional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace trellis::test {

struct Failed : std::runtime_error {
  using std::runtime_error::runtime_error;
};
// The machine lacks what the test needs; the text says what.
struct Skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Case {
  std::string name;
  std::function<void()> body;
};
std::vector<Case>& Cases();
inline bool Register(std::string name, std::function<void()> body) {
  Cases().push_back({std::move(name), std::move(body)});
  return true;
}

// Throws Skipped when we may not make namespaces.
void NeedRoot();

[[noreturn]] inline void Fail(const char* file, int line, const std::string& what) {
  throw Failed(std::string(file) + ":" + std::to_string(line) + ": " + what);
}

template <class A, class B>
void CheckEqual(const A& actual, const B& expected, const char* text, const char* file, int line) {
  if (actual == expected) return;
  std::ostringstream what;
  what << text << "\n      is        " << actual << "\n      should be " << expected;
  Fail(file, line, what.str());
}

template <class E, class Body>
void CheckThrows(std::string_view part, Body body, const char* text, const char* file, int line) {
  try {
    body();
  } catch (const E& error) {
    if (std::string_view(error.what()).find(part) != std::string_view::npos) return;
    Fail(file, line, std::string(text) + " says \"" + error.what() + "\", which lacks \"" + std::string(part) + "\"");
  }
  Fail(file, line, std::string(text) + " does not throw");
}

}  // namespace trellis::test

#define TRELLIS_JOIN_(a, b) a##b
#define TRELLIS_JOIN(a, b) TRELLIS_JOIN_(a, b)
#define TEST(name) TRELLIS_TEST(name, TRELLIS_JOIN(test_, __LINE__))
#define TRELLIS_TEST(name, id)                                                      \
  static void id();                                                                 \
  static const bool TRELLIS_JOIN(id, _known) = ::trellis::test::Register(name, id); \
  static void id()

#define CHECK(...)                                                                                \
  do {                                                                                            \
    if (!(__VA_ARGS__)) ::trellis::test::Fail(__FILE__, __LINE__, #__VA_ARGS__ " does not hold"); \
  } while (false)
#define CHECK_EQUAL(actual, ...) ::trellis::test::CheckEqual(actual, __VA_ARGS__, #actual, __FILE__, __LINE__)
#define CHECK_THROWS(type, part, ...) \
  ::trellis::test::CheckThrows<type>( \
      part, [&] { (void)(__VA_ARGS__); }, #__VA_ARGS__, __FILE__, __LINE__)
