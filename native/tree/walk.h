// Walks a directory tree by descriptors: names are bytes, no link is followed, and what is renamed meanwhile leads nowhere else.
// Guarantees: 34 descriptors at the most and one buffer of names per level, however deep or wide the tree is; a visitor is
// only ever handed an entry of a directory that was reached from the root step by step.
#pragma once
#include <sys/stat.h>

#include <atomic>
#include <string>

#include "base/fd.h"

namespace trellis::tree {

// Set by whoever no longer waits: the walk ends with ECANCELED. Null: nobody does.
using Stop = const std::atomic<bool>*;

enum class Borders { Stay, Cross };  // whether mounts inside the tree are entered

// What is done with a tree. `parent` is an open directory, valid during the call alone.
class Visitor {
 public:
  virtual ~Visitor() = default;
  // Something that was no directory when the parent was read.
  virtual void File(int parent, const char* name) = 0;
  // A directory, before anything in it.
  virtual void Enter(int directory) = 0;
  // The same after everything in it; `parent` is -1 for the root. True: it is read once more.
  virtual bool Leave(int parent, const std::string& name, int directory) = 0;
  // A directory that could not be opened (EXDEV: a mount that is not to be entered) or read to its end, or to which the
  // way back was lost since somebody moved it (ESTALE).
  virtual void Unread(int parent, const char* name, int error) = 0;
};

// `root` is an open, readable directory; it is the first to be entered and the last to be left.
void Walk(Fd root, Borders borders, Visitor& visitor, Stop stop);

}  // namespace trellis::tree
