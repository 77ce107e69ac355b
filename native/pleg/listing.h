// What a runtime's lists say, as little as the pod lifecycle needs: which container of which pod is in which state.
// Guarantees: sorted by pod and id, each once; a sandbox stands beside its containers as one of them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "base/ip.h"

namespace trellis::pleg {

enum class State : uint8_t { Running, Exited, Unknown };

struct Entry {
  std::string podUid;
  std::string id;
  State state = State::Unknown;

  bool SameContainer(const Entry& other) const { return podUid == other.podUid && id == other.id; }
  bool Before(const Entry& other) const { return podUid != other.podUid ? podUid < other.podUid : id < other.id; }
};

using Listing = std::vector<Entry>;

// Reads a ListPodSandboxResponse and a ListContainersResponse. A container belongs to the pod of its sandbox, or, when the
// sandbox is not in the list, to the one its label names; what belongs to no pod is left out.
Listing ReadListing(Bytes sandboxes, Bytes containers);

}  // namespace trellis::pleg
