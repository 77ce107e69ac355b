#include "pleg/listing.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "pleg/wire.h"

namespace trellis::pleg {

namespace {

const std::string kReadSandboxes = "read ListPodSandboxResponse";
const std::string kReadContainers = "read ListContainersResponse";
constexpr std::string_view kPodUidLabel = "io.kubernetes.pod.uid";

// Field numbers of CRI v1.
constexpr uint32_t kItems = 1;
namespace sandbox {
constexpr uint32_t kId = 1, kMetadata = 2, kState = 3, kUid = 2;
constexpr uint64_t kReady = 0;
}  // namespace sandbox
namespace container {
constexpr uint32_t kId = 1, kSandboxId = 2, kState = 6, kLabels = 8;
constexpr uint64_t kCreated = 0, kRunning = 1, kExited = 2;
}  // namespace container
constexpr uint32_t kKey = 1, kValue = 2;

Entry ReadSandbox(Bytes bytes) {
  WireReader reader(bytes, kReadSandboxes);
  Entry entry;
  uint64_t state = sandbox::kReady;  // proto3 leaves zeros out
  for (Field field; reader.Next(field);) {
    if (field.number == sandbox::kId) entry.id = reader.Text(field);
    if (field.number == sandbox::kState) state = reader.Integer(field);
    if (field.number != sandbox::kMetadata) continue;
    WireReader metadata(reader.Message(field), kReadSandboxes);
    for (Field part; metadata.Next(part);)
      if (part.number == sandbox::kUid) entry.podUid = metadata.Text(part);
  }
  if (entry.id.empty()) reader.Refuse("a sandbox has no id");
  entry.state = state == sandbox::kReady ? State::Running : State::Exited;
  return entry;
}

State ContainerState(uint64_t state) {
  if (state == container::kRunning) return State::Running;
  return state == container::kExited ? State::Exited : State::Unknown;
}

// The label's value if this entry of the map is the pod's uid.
void ReadLabel(Bytes bytes, std::string_view& uid) {
  WireReader reader(bytes, kReadContainers);
  std::string_view key, value;
  for (Field field; reader.Next(field);) {
    if (field.number == kKey) key = reader.Text(field);
    if (field.number == kValue) value = reader.Text(field);
  }
  if (key == kPodUidLabel) uid = value;
}

std::string_view PodOfLabels(Bytes bytes) {
  WireReader reader(bytes, kReadContainers);
  std::string_view uid;
  for (Field field; reader.Next(field);)
    if (field.number == container::kLabels) ReadLabel(reader.Message(field), uid);
  return uid;
}

// A runtime's ids are random digits: their two ends spread them as well as all of them would.
size_t HashOf(std::string_view id) {
  if (id.empty()) return 0;
  uint64_t first = 0, last = 0;
  const size_t size = std::min(id.size(), sizeof first);
  std::memcpy(&first, id.data(), size);
  std::memcpy(&last, id.data() + id.size() - size, size);
  const uint64_t mixed = (first ^ std::rotl(last, 32)) * 0x9e3779b97f4a7c15;
  return static_cast<size_t>(mixed ^ mixed >> 32);
}

// Sandboxes by id, for the containers that name them. Views into the runtime's answer.
class PodOfSandbox {
 public:
  explicit PodOfSandbox(const std::vector<Entry>& sandboxes)
      : sandboxes_(sandboxes), slots_(std::bit_ceil(sandboxes.size() * 2 + 1)) {
    for (uint32_t i = 0; i < sandboxes.size(); i++) slots_[SlotOf(sandboxes[i].id)] = i + 1;  // the last one counts
  }

  const Entry* Find(std::string_view id) const {
    const uint32_t found = slots_[SlotOf(id)];
    return found == 0 ? nullptr : &sandboxes_[found - 1];
  }

 private:
  size_t SlotOf(std::string_view id) const {
    size_t slot = HashOf(id) & (slots_.size() - 1);
    while (slots_[slot] != 0 && sandboxes_[slots_[slot] - 1].id != id) slot = (slot + 1) & (slots_.size() - 1);
    return slot;
  }

  const std::vector<Entry>& sandboxes_;
  std::vector<uint32_t> slots_;
};

Entry ReadContainer(Bytes bytes, const PodOfSandbox& pods) {
  WireReader reader(bytes, kReadContainers);
  Entry entry;
  std::string_view sandboxId;
  uint64_t state = container::kCreated;
  for (Field field; reader.Next(field);) {
    if (field.number == container::kId) entry.id = reader.Text(field);
    if (field.number == container::kSandboxId) sandboxId = reader.Text(field);
    if (field.number == container::kState) state = reader.Integer(field);
  }
  if (entry.id.empty()) reader.Refuse("a container has no id");
  // Labels are the larger part of a container and seldom needed: they are read only when the sandbox is not there.
  const Entry* sandbox = pods.Find(sandboxId);
  entry.podUid = sandbox != nullptr ? sandbox->podUid : PodOfLabels(bytes);
  entry.state = ContainerState(state);
  return entry;
}

}  // namespace

Listing::Listing(const std::vector<Entry>& found) : slots_(std::bit_ceil(found.size() * 2 + 1)) {
  size_t size = 0;
  for (const Entry& entry : found) size += entry.podUid.size() + entry.id.size();
  texts_.resize(size);
  entries_.reserve(found.size());
  char* to = texts_.data();
  const auto keep = [&to](std::string_view text) {
    std::memcpy(to, text.data(), text.size());
    to += text.size();
    return std::string_view(to - text.size(), text.size());
  };
  for (const Entry& entry : found) {
    if (entry.podUid.empty()) continue;
    uint32_t& slot = slots_[SlotOf(entry)];
    if (slot != 0) continue;
    entries_.push_back({keep(entry.podUid), keep(entry.id), entry.state});
    slot = static_cast<uint32_t>(entries_.size());
  }
}

const Entry* Listing::Find(const Entry& wanted) const {
  if (slots_.empty()) return nullptr;
  const uint32_t found = slots_[SlotOf(wanted)];
  return found == 0 ? nullptr : &entries_[found - 1];
}

// Ids are unique on a node in practice, so that they alone spread the entries well.
size_t Listing::SlotOf(const Entry& wanted) const {
  size_t slot = HashOf(wanted.id) & (slots_.size() - 1);
  while (slots_[slot] != 0 && !entries_[slots_[slot] - 1].SameContainer(wanted)) slot = (slot + 1) & (slots_.size() - 1);
  return slot;
}

Listing ReadListing(Bytes sandboxes, Bytes containers) {
  std::vector<Entry> found;
  WireReader sandboxReader(sandboxes, kReadSandboxes);
  for (Field field; sandboxReader.Next(field);)
    if (field.number == kItems) found.push_back(ReadSandbox(sandboxReader.Message(field)));

  std::vector<Entry> runs;
  const PodOfSandbox pods(found);
  WireReader containerReader(containers, kReadContainers);
  for (Field field; containerReader.Next(field);)
    if (field.number == kItems) runs.push_back(ReadContainer(containerReader.Message(field), pods));
  found.insert(found.end(), runs.begin(), runs.end());
  return Listing(found);
}

}  // namespace trellis::pleg
