#include "pleg/differ.h"

#include <algorithm>
#include <set>
#include <vector>

#include "base/json.h"

namespace trellis::pleg {

namespace {

// Opens a pod's object with its first event, so that pods without events leave no trace.
class EventWriter {
 public:
  EventWriter() { to_.BeginArray(); }

  void Add(const Entry& entry, std::string_view type) {
    if (!open_ || pod_ != entry.podUid) {
      Close();
      open_ = true;
      pod_ = entry.podUid;
      to_.BeginObject();
      to_.Key("podUid");
      to_.String(entry.podUid);
      to_.Key("events");
      to_.BeginArray();
    }
    to_.BeginObject();
    to_.Key("type");
    to_.String(type);
    to_.Key("id");
    to_.String(entry.id);
    to_.EndObject();
  }

  std::string Take() {
    Close();
    to_.EndArray();
    return to_.Take();
  }

 private:
  void Close() {
    if (!open_) return;
    to_.EndArray();
    to_.EndObject();
    open_ = false;
  }

  json::Writer to_;
  bool open_ = false;
  std::string_view pod_;
};

std::string_view EventOf(State state) {
  switch (state) {
    case State::Running:
      return "ContainerStarted";
    case State::Exited:
      return "ContainerDied";
    case State::Unknown:
      break;
  }
  return "ContainerChanged";
}

// One that vanished while it ran has died as well, though nobody saw it.
void AddGone(EventWriter& events, const Entry& entry) {
  if (entry.state != State::Exited) events.Add(entry, "ContainerDied");
  events.Add(entry, "ContainerRemoved");
}

}  // namespace

std::string ComputeEvents(const Listing& old, const Listing& now) {
  struct Change {
    const Entry* entry;
    bool gone;
  };
  std::vector<Change> changes;
  size_t kept = 0;
  for (const Entry& entry : now.entries()) {
    const Entry* before = old.Find(entry);
    if (before != nullptr) ++kept;
    if (before == nullptr || before->state != entry.state) changes.push_back({&entry, false});
  }
  // In nearly every relist nothing is gone, which the count tells.
  if (kept < old.entries().size())
    for (const Entry& entry : old.entries())
      if (now.Find(entry) == nullptr) changes.push_back({&entry, true});
  std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) { return a.entry->Before(*b.entry); });

  EventWriter events;
  for (const auto& [entry, gone] : changes) {
    if (gone) AddGone(events, *entry);
    else events.Add(*entry, EventOf(entry->state));
  }
  return events.Take();
}

Changes Differ::Diff(Bytes sandboxes, Bytes containers) {
  Listing now = ReadListing(sandboxes, containers);
  const std::lock_guard lock(mutex_);
  std::string json = ComputeEvents(record_, now);
  pending_ = std::move(now);
  return {std::move(json), ++token_};
}

void Differ::Commit(uint64_t token) {
  const std::lock_guard lock(mutex_);
  if (token != token_ || !pending_) return;
  record_ = std::move(*pending_);
  pending_.reset();
}

std::string Differ::Pods() const {
  const std::lock_guard lock(mutex_);
  std::set<std::string_view> uids;
  for (const Entry& entry : record_.entries()) uids.insert(entry.podUid);
  json::Writer to;
  to.BeginArray();
  for (const std::string_view uid : uids) to.String(uid);
  to.EndArray();
  return to.Take();
}

}  // namespace trellis::pleg
