// The pod lifecycle event generator: what changed between the last listing that was dealt with and the one at hand.
// Guarantees: the record advances by Commit only, so that events which were not delivered are found again; thread-safe.
#pragma once
#include <mutex>
#include <optional>
#include <string>

#include "pleg/listing.h"

namespace trellis::pleg {

struct Changes {
  std::string json;    // [{"podUid": ..., "events": [{"type": ..., "id": ...}]}], pods in order, only those that changed
  uint64_t token = 0;  // for Commit
};

// The events between two listings, as JSON. Pure.
std::string ComputeEvents(const Listing& old, const Listing& now);

class Differ {
 public:
  Changes Diff(Bytes sandboxes, Bytes containers);
  // Makes the listing behind the token the record. A token that a later Diff replaced is ignored.
  void Commit(uint64_t token);
  // The uids of the record's pods, as a JSON array.
  std::string Pods() const;

 private:
  mutable std::mutex mutex_;
  Listing record_;
  std::optional<Listing> pending_;
  uint64_t token_ = 0;
};

}  // namespace trellis::pleg
