// The two ways a call can fail: the kernel refused, or the caller asked for something that makes no sense.
// Guarantees: every error carries a symbolic code ("EEXIST"), a sentence, and the operation that met it.
#pragma once
#include <stdexcept>
#include <string>
#include <string_view>

namespace trellis {

// The symbolic name of an errno value: ErrorName(17) is "EEXIST".
std::string ErrorName(int error);

// A family of kernel objects may have numbers of its own, above every errno. ipset has, and its room defines these two.
inline constexpr int kFamilyErrors = 4096;
std::string FamilyErrorName(int error);
// Null for a number that nobody knows.
const char* FamilyErrorSentence(int error);

// The kernel (or the C library) said no. `text` is the kernel's own extended-ACK sentence, empty if it gave none.
class KernelError : public std::runtime_error {
 public:
  KernelError(int error, std::string operation, std::string text = {});

  int error() const { return error_; }
  const std::string& operation() const { return operation_; }
  const std::string& text() const { return text_; }

 private:
  int error_;
  std::string operation_;
  std::string text_;
};

// The request itself is wrong; nothing was sent to the kernel for it.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Throws KernelError with the current errno.
[[noreturn]] void ThrowErrno(std::string operation);

}  // namespace trellis
