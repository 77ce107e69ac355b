// The delegated configuration of each container, kept from ADD to DEL in the files that flannel's plugin uses.
// Guarantees: a file that is there is whole; only root can read it.
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace trellis::cni {

class SavedDelegates {
 public:
  explicit SavedDelegates(std::string directory) : directory_(std::move(directory)) {}

  std::optional<std::string> Find(const std::string& containerId) const;
  // Replaces what was saved for the container before. Throws Error IoFailure.
  void Save(const std::string& containerId, const std::string& text) const;
  // One that is not there is success.
  void Remove(const std::string& containerId) const;
  std::vector<std::string> ContainerIds() const;

 private:
  std::string PathOf(const std::string& containerId) const { return directory_ + "/" + containerId; }
  // Container IDs begin with a letter or a digit, so that no container's file has such a name.
  std::string AsideOf(const std::string& containerId) const { return directory_ + "/." + containerId; }

  std::string directory_;
};

}  // namespace trellis::cni
