// A network namespace for one test.
// Guarantees: gone with the scope, also when the test fails.
#pragma once
#include <unistd.h>

#include <string>

#include "netns/netns.h"
#include "test/check.h"

namespace trellis::test {

class ThrowAwayNetNs {
 public:
  ThrowAwayNetNs() : path_(MakePath()) {
    NeedRoot();
    ns_ = NetNs::Create(path_);
  }
  ~ThrowAwayNetNs() { NetNs::Remove(path_); }
  ThrowAwayNetNs(const ThrowAwayNetNs&) = delete;
  ThrowAwayNetNs& operator=(const ThrowAwayNetNs&) = delete;

  const std::string& path() const { return path_; }
  const NetNs& ns() const { return ns_; }

  static std::string MakePath() {
    static int made = 0;
    return "/run/netns/trellis-native-" + std::to_string(getpid()) + "-" + std::to_string(++made);
  }

 private:
  std::string path_;
  NetNs ns_;
};

}  // namespace trellis::test
