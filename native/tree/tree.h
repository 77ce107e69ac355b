// What is done with whole directory trees that others may write to: removing, measuring and giving them to a group.
// Guarantees: no link is followed, whatever is renamed meanwhile; names that are not UTF-8 and any depth are no obstacle.
#pragma once
#include <cstdint>
#include <string>

#include "tree/walk.h"

namespace trellis::tree {

// Removes what is at `path`; success also when nothing is. A mount inside is left alone, and EXDEV says so. What can be
// removed goes, and then the first refusal is thrown.
void Remove(const std::string& path, Stop stop = nullptr);

struct Use {
  uint64_t bytes = 0;  // of blocks, each file once however many names it has
  uint64_t inodes = 0;
  uint64_t unread = 0;  // entries and directories that could not be looked at
};

// As du counts, without the mounts inside. Nothing for a path that is not there.
Use Measure(const std::string& path, Stop stop = nullptr);

struct Ownership {
  uint32_t gid = 0;
  bool writable = true;            // the group gets rw, else r; directories x and the set-group bit as well
  bool unlessRootMatches = false;  // nothing is done where the root has the group and the bits already
};

struct Owned {
  uint64_t changed = 0;
  uint64_t refused = 0;
  int error = 0;  // of the first refusal
};

// Bits are only added. The root comes last, so that a walk that was cut short is not taken for a whole one. `path` itself may
// be a link: it is what is mounted into the pod.
Owned Own(const std::string& path, const Ownership& wanted, Stop stop = nullptr);

}  // namespace trellis::tree
