#include "pleg/differ.h"

#include "base/json.h"

namespace trellis::pleg {

namespace {

// Opens a pod's object with its first event, so that pods without events leave no trace.
class EventWriter {
 public:
  EventWriter() { to_.BeginArray(); }

  void Add(const Entry& entry, std::string_view type) {
    if (pod_ == nullptr || *pod_ != entry.podUid) {
      Close();
      pod_ = &entry.podUid;
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
    if (pod_ == nullptr) return;
    to_.EndArray();
    to_.EndObject();
    pod_ = nullptr;
  }

  json::Writer to_;
  const std::string* pod_ = nullptr;
};

std::string_view EventOf(State state) {
  switch (state) {
    case State::Running: return "ContainerStarted";
    case State::Exited: return "ContainerDied";
    case State::Unknown: break;
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
  EventWriter events;
  auto before = old.begin();
  for (const Entry& entry : now) {
    for (; before != old.end() && before->Before(entry); ++before) AddGone(events, *before);
    const bool known = before != old.end() && before->SameContainer(entry);
    if (!known || before->state != entry.state) events.Add(entry, EventOf(entry.state));
    if (known) ++before;
  }
  for (; before != old.end(); ++before) AddGone(events, *before);
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
  json::Writer to;
  to.BeginArray();
  const Entry* last = nullptr;
  for (const Entry& entry : record_) {
    if (last == nullptr || last->podUid != entry.podUid) to.String(entry.podUid);
    last = &entry;
  }
  to.EndArray();
  return to.Take();
}

}  // namespace trellis::pleg
