#include "base/error.h"

#include <cerrno>
#include <cstring>

namespace trellis {

namespace {

std::string Sentence(int error, const std::string& operation, const std::string& text) {
  const char* meaning = FamilyErrorSentence(error);
  std::string sentence = operation + ": " + (meaning != nullptr ? meaning : strerror(error));
  if (!text.empty()) sentence += " (" + text + ")";
  return sentence;
}

}  // namespace

std::string ErrorName(int error) {
  if (error >= kFamilyErrors) return FamilyErrorName(error);
  const char* name = strerrorname_np(error);
  return name != nullptr ? name : std::string("ERRNO").append(std::to_string(error));
}

KernelError::KernelError(int error, std::string operation, std::string text)
    : std::runtime_error(Sentence(error, operation, text)),
      error_(error),
      operation_(std::move(operation)),
      text_(std::move(text)) {}

void ThrowErrno(std::string operation) { throw KernelError(errno, std::move(operation)); }

}  // namespace trellis
