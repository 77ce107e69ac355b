// What a runtime's lists say, as little as the pod lifecycle needs: which container of which pod is in which state.
// Guarantees: each container once, found by pod and id in constant time; a sandbox stands beside its containers as one of them.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/ip.h"

namespace trellis::pleg {

enum class State : uint8_t { Running, Exited, Unknown };

struct Entry {
  std::string_view podUid;
  std::string_view id;
  State state = State::Unknown;

  bool SameContainer(const Entry& other) const { return id == other.id && podUid == other.podUid; }
  bool Before(const Entry& other) const { return podUid != other.podUid ? podUid < other.podUid : id < other.id; }
};

// A runtime lists in any order, so nothing is sorted here: a node's thousands are looked up, only the few changes are ordered.
class Listing {
 public:
  Listing() = default;
  // Keeps its own copy of the texts. Of two with the same pod and id the first counts; those of no pod are left out.
  explicit Listing(const std::vector<Entry>& found);
  Listing(Listing&&) = default;
  Listing& operator=(Listing&&) = default;

  const std::vector<Entry>& entries() const { return entries_; }
  // nullptr when there is none.
  const Entry* Find(const Entry& wanted) const;

 private:
  size_t SlotOf(const Entry& wanted) const;

  std::vector<char> texts_;  // what the entries' views point into; moving it moves no text
  std::vector<Entry> entries_;
  std::vector<uint32_t> slots_;  // open addressing: index into entries_ plus one, 0 for an empty slot
};

// Reads a ListPodSandboxResponse and a ListContainersResponse. A container belongs to the pod of its sandbox, or, when the
// sandbox is not in the list, to the one its label names; what belongs to no pod is left out.
Listing ReadListing(Bytes sandboxes, Bytes containers);

}  // namespace trellis::pleg
