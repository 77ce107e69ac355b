// Reservations on disk: one file an address, as the reference host-local plugin keeps them.
// Guarantees: all under one lock, which root alone can take; what either plugin wrote the other reads; addresses of a former
// boot are given back; giving back needs no room on the disk; no link or pipe in the place of a file is followed or waited for.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/ip.h"

namespace trellis::cni {

// Who holds an address.
struct Holder {
  std::string containerId;
  std::string interfaceName;
};

class Store {
 public:
  // Opens <dataDir>/<network> (made if need be) and waits for its lock, which it holds until destroyed. Throws Error.
  Store(const std::string& dataDir, const std::string& network);
  Store(Store&&) = default;
  // Whether anything may be reserved there.
  static bool Exists(const std::string& dataDir, const std::string& network);

  // False if somebody has the address.
  bool Reserve(const IpAddress& address, const Holder& holder);
  void Release(const IpAddress& address);
  // Every address the holder has. `hints` are looked at first; if one is the holder's, the rest is not searched.
  std::vector<IpAddress> Find(const Holder& holder, const std::vector<IpAddress>& hints = {}) const;
  // The address handed out last of range set `set`.
  std::optional<IpAddress> Last(size_t set) const;
  void SetLast(size_t set, const IpAddress& address);
  // Gives back every address whose holder is not in `valid`.
  void Keep(const std::vector<Holder>& valid);

 private:
  std::string PathOf(const std::string& name) const { return directory_ + "/" + name; }
  // Returns 0 or the errno. With `exclusive` a file that is there already is EEXIST.
  int Write(const std::string& name, const std::string& text, bool exclusive) const;
  bool IsHeldBy(const std::string& name, const Holder& holder) const;
  std::vector<IpAddress> Reserved() const;
  void ForgetFormerBoot();

  std::string directory_;
  Fd lock_;
};

}  // namespace trellis::cni
