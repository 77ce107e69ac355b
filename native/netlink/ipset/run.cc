#include "netlink/ipset/run.h"

#include <linux/netfilter/nfnetlink.h>

#include <algorithm>
#include <cerrno>
#include <tuple>

namespace trellis::netlink {

namespace {

// What one attribute may hold is 64 KiB; on a refusal the kernel sends the whole message back.
constexpr size_t kStagedSize = 60000;

uint8_t EntryCommand(const SetRequest& request) { return request.verb == SetVerb::Add ? IPSET_CMD_ADD : IPSET_CMD_DEL; }

void BeginEntries(Batch& batch, const SetRequest& request, uint8_t protocol, size_t owner) {
  BeginIpset(batch, EntryCommand(request), request.exclusive ? NLM_F_EXCL : 0, protocol, owner);
  batch.PutString(IPSET_ATTR_SETNAME, *request.set.name);
}

// The line number that the kernel wrote into the message it sent back; 0 when there is none.
uint32_t FailedLine(Bytes echo) {
  if (echo.size() <= NLMSG_ALIGN(sizeof(nfgenmsg))) return 0;
  const AttributeTable table(echo.subspan(NLMSG_ALIGN(sizeof(nfgenmsg))));
  return table.Has(IPSET_ATTR_LINENO) ? ReadValue<uint32_t>(table.Get(IPSET_ATTR_LINENO)) : 0;
}

}  // namespace

void SetRun::Do(SetRequest& request, size_t index) {
  if (!request.isEntry) {
    SendStaged();
    PutSet(request, index);
  } else if (request.isMissing) {
    Refuse({&request, index, {}}, ENOENT, "there is no such set");
  } else {
    for (size_t i = 0; i < request.entries.size(); ++i) Stage({&request, index, i});
  }
}

std::vector<Refusal> SetRun::Finish() {
  SendStaged();
  Flush();
  std::stable_sort(refusals_.begin(), refusals_.end(),
                   [](const Refusal& a, const Refusal& b) { return std::tie(a.index, a.entry) < std::tie(b.index, b.entry); });
  return std::move(refusals_);
}

bool SetRun::Joins(const SetRequest& request) const {
  const SetRequest& first = *staged_.front().request;
  return first.verb == request.verb && first.exclusive == request.exclusive && first.set.name == request.set.name;
}

void SetRun::Stage(const Item& item) {
  const size_t size = item.request->entries[*item.entry].size();
  if (!staged_.empty() && (stagedSize_ + size > kStagedSize || !Joins(*item.request))) SendStaged();
  staged_.push_back(item);
  stagedSize_ += size;
}

void SetRun::SendStaged() {
  if (staged_.size() == 1) PutOne(staged_.front());
  else if (!staged_.empty()) PutMany();
  staged_.clear();
  stagedSize_ = 0;
}

void SetRun::PutOne(const Item& item) {
  BeginEntries(batch_, *item.request, protocol_, owners_.size());
  owners_.push_back(item);
  const Bytes nest = item.request->entries[*item.entry];
  batch_.Append(nest.data(), nest.size());
  batch_.End();
}

// The kernel stops at the first entry it refuses and tells its line. The ones behind it then go one to a message, so
// that a set with many refusals costs no more than twice; and before anything that comes later.
void SetRun::PutMany() {
  const SetRequest& request = *staged_.front().request;
  BeginEntries(batch_, request, protocol_, owners_.size());
  owners_.push_back({&request, staged_.front().index, {}});
  batch_.PutValue<uint32_t>(IPSET_ATTR_LINENO, 0);
  const size_t all = batch_.BeginNest(IPSET_ATTR_ADT);
  for (uint32_t line = 1; line <= staged_.size(); ++line) {
    const Item& item = staged_[line - 1];
    const Bytes nest = item.request->entries[*item.entry];
    batch_.Append(nest.data(), nest.size() - sizeof line);
    batch_.Append(&line, sizeof line);
  }
  batch_.EndNest(all);
  batch_.End();

  const size_t owner = owners_.size() - 1;
  for (Failure& failure : socket_.Exchange(batch_)) {
    if (failure.owner != owner) {
      Refuse(owners_[failure.owner], failure.error, std::move(failure.text));
      continue;
    }
    const uint32_t line = FailedLine(failure.echo);
    if (line == 0 || line > staged_.size()) {  // the message as a whole: there is no such set
      size_t last = SIZE_MAX;
      for (const Item& item : staged_)
        if (std::exchange(last, item.index) != item.index) Refuse({item.request, item.index, {}}, failure.error, failure.text);
      continue;
    }
    Refuse(staged_[line - 1], failure.error, std::move(failure.text));
    owners_.clear();
    for (size_t i = line; i < staged_.size(); ++i) PutOne(staged_[i]);
    Flush();
  }
  owners_.clear();
}

void SetRun::PutSet(SetRequest& request, size_t index) {
  const size_t owner = owners_.size();
  owners_.push_back({&request, index, {}});
  if (request.verb == SetVerb::Add) return request.set.Encode(batch_, protocol_, !request.exclusive, owner);
  switch (request.verb) {
    case SetVerb::Delete:
      // Newer kernels take a missing set for success without this flag.
      BeginIpset(batch_, IPSET_CMD_DESTROY, request.exclusive ? NLM_F_EXCL : 0, protocol_, owner);
      break;
    case SetVerb::Flush:
      BeginIpset(batch_, IPSET_CMD_FLUSH, 0, protocol_, owner);
      break;
    case SetVerb::Rename:
      BeginIpset(batch_, IPSET_CMD_RENAME, 0, protocol_, owner);
      break;
    default:
      BeginIpset(batch_, IPSET_CMD_SWAP, 0, protocol_, owner);
  }
  if (request.set.name) batch_.PutString(IPSET_ATTR_SETNAME, *request.set.name);
  if (!request.other.empty()) batch_.PutString(IPSET_ATTR_SETNAME2, request.other);
  batch_.End();
}

void SetRun::Flush() {
  if (!batch_.empty())
    for (Failure& failure : socket_.Exchange(batch_)) Refuse(owners_[failure.owner], failure.error, std::move(failure.text));
  owners_.clear();
}

// ipset has one number for "is there already" and "is not there", and EEXIST also for a set that is there but differs.
void SetRun::Refuse(const Item& item, int error, std::string text) {
  const SetRequest& request = *item.request;
  if (error == IPSET_ERR_EXIST && request.isEntry) {
    error = request.verb == SetVerb::Add ? EEXIST : ENOENT;
    text = request.verb == SetVerb::Add ? "the entry is in the set already" : "the entry is not in the set";
  } else if (error == IPSET_ERR_EXIST_SETNAME2) {
    error = request.verb == SetVerb::Rename ? EEXIST : ENOENT;
    text = (request.verb == SetVerb::Rename ? "there is a set " : "there is no set ") + request.other;
  } else if (error == EEXIST && !request.isEntry && request.verb == SetVerb::Add && !request.exclusive) {
    error = IPSET_ERR_TYPE_MISMATCH;
    text = "the set exists with another type, family or options";
  } else {
    error = UniqueSetError(error, request.method);
  }
  Refusal refusal{item.index, error, std::move(text)};
  if (item.entry) {
    refusal.entry = *item.entry;
    refusal.detail = request.entries.TextOf(*item.entry);
  }
  refusals_.push_back(std::move(refusal));
}

}  // namespace trellis::netlink
