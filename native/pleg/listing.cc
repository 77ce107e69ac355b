#include "pleg/listing.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

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

using PodOfSandbox = std::unordered_map<std::string_view, std::string_view>;

Entry ReadContainer(Bytes bytes, const PodOfSandbox& pods) {
  WireReader reader(bytes, kReadContainers);
  Entry entry;
  std::string_view sandboxId, label;
  uint64_t state = container::kCreated;
  for (Field field; reader.Next(field);) {
    if (field.number == container::kId) entry.id = reader.Text(field);
    if (field.number == container::kSandboxId) sandboxId = reader.Text(field);
    if (field.number == container::kState) state = reader.Integer(field);
    if (field.number == container::kLabels) ReadLabel(reader.Message(field), label);
  }
  if (entry.id.empty()) reader.Refuse("a container has no id");
  const auto found = pods.find(sandboxId);
  entry.podUid = found != pods.end() ? found->second : label;
  entry.state = ContainerState(state);
  return entry;
}

}  // namespace

Listing ReadListing(Bytes sandboxes, Bytes containers) {
  Listing listing;
  WireReader sandboxReader(sandboxes, kReadSandboxes);
  for (Field field; sandboxReader.Next(field);)
    if (field.number == kItems) listing.push_back(ReadSandbox(sandboxReader.Message(field)));

  Listing found;
  {
    PodOfSandbox pods;  // views into `listing`, which does not change while they live
    for (const Entry& entry : listing) pods[entry.id] = entry.podUid;
    WireReader containerReader(containers, kReadContainers);
    for (Field field; containerReader.Next(field);)
      if (field.number == kItems) found.push_back(ReadContainer(containerReader.Message(field), pods));
  }
  std::move(found.begin(), found.end(), std::back_inserter(listing));

  std::erase_if(listing, [](const Entry& entry) { return entry.podUid.empty(); });
  std::stable_sort(listing.begin(), listing.end(), [](const Entry& a, const Entry& b) { return a.Before(b); });
  const auto same = [](const Entry& a, const Entry& b) { return a.SameContainer(b); };
  listing.erase(std::unique(listing.begin(), listing.end(), same), listing.end());
  return listing;
}

}  // namespace trellis::pleg
