// Network namespaces: open, create and pin, remove, and run a step inside one.
// Guarantees: the calling thread keeps its namespace (RunHere lends it); a failed create leaves no file and no mount.
#pragma once
#include <functional>
#include <memory>
#include <string>

#include "base/fd.h"

namespace trellis {

// A handle on a namespace. Copies share one descriptor. A default-made one means "the one we run in".
class NetNs {
 public:
  NetNs() = default;

  static NetNs OpenPath(const std::string& path);
  static NetNs OpenPid(int pid);
  // Duplicates the descriptor; the caller keeps its own.
  static NetNs OpenFd(int fd);

  // Makes a new namespace and pins it at `path` by a bind mount, the way `ip netns add` does.
  static NetNs Create(const std::string& path);
  // Unmounts and removes the pin. The namespace dies with its last user. A missing path is not an error.
  static void Remove(const std::string& path);

  bool IsCurrent() const { return fd_ == nullptr; }
  int fd() const { return fd_ ? fd_->get() : -1; }

  // Runs `step` inside the namespace, on a short-lived thread unless this is the current one; rethrows its exception.
  void Run(const std::function<void()>& step) const;
  // The same with the calling thread itself, which comes back: for programs of one thread, where another only costs.
  void RunHere(const std::function<void()>& step) const;

 private:
  explicit NetNs(Fd fd);
  std::shared_ptr<Fd> fd_;
};

}  // namespace trellis
