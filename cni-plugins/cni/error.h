// The errors a runtime understands: CNI's well-known codes with a sentence for people.
// Guarantees: every failure of a plugin leaves as one of these, on standard output, as the specification wants it.
#pragma once
#include <stdexcept>
#include <string>

namespace trellis::cni {

enum class Code : unsigned {
  IncompatibleVersion = 1,
  UnsupportedField = 2,
  UnknownContainer = 3,
  InvalidEnvironment = 4,
  IoFailure = 5,
  FailedToDecode = 6,
  InvalidConfiguration = 7,
  InvalidNetNs = 8,
  TryAgainLater = 11,
  PluginNotAvailable = 50,
  LimitedConnectivity = 51,
  Internal = 999,
};

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message, std::string details = {})
      : std::runtime_error(message), code_(code), details_(std::move(details)) {}

  Code code() const { return code_; }
  const std::string& details() const { return details_; }

 private:
  Code code_;
  std::string details_;
};

}  // namespace trellis::cni
