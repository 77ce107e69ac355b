// A family opened in a namespace: JSON bytes in, JSON bytes out. The whole face of the core towards JavaScript.
// Guarantees: thread-safe; one call at a time; every failure is a CallError.
#pragma once
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "session/family.h"

namespace trellis {

// What went wrong, in the words the caller gets: a symbolic code, a sentence, and where.
struct CallError {
  std::string code;       // "EEXIST" from the kernel, "INVALID" for a request that makes no sense
  std::string message;    // for people
  std::string operation;  // "add link eth0"
  std::string kernel;     // the kernel's extended text, or empty
  int error = 0;          // errno, or 0
  std::optional<size_t> index;
  std::optional<size_t> entry = {};  // of a request that holds many

  void Write(json::Writer& to) const;
};

// Turns the exception being handled into a CallError.
CallError CurrentError();

// Where to open: nothing for the namespace we are in, a path, or a process id.
struct NetNsSpec {
  std::string path;
  int pid = 0;
  NetNs Open() const;
};

class Channel {
 public:
  Channel(std::string family, const NetNsSpec& netns);

  // `chunks` are JSON arrays of requests. Returns a JSON array of the errors, "[]" when all went well.
  std::string Apply(std::vector<std::string> chunks);
  // `query` is a JSON object. Returns JSON arrays of objects.
  std::vector<std::string> Query(std::string query);

 private:
  std::mutex mutex_;
  std::unique_ptr<Family> family_;
};

}  // namespace trellis
