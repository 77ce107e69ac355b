// Requests about sets and entries, read and checked, ready to be sent.
// Guarantees: reading asks the kernel for the types of sets but changes nothing.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <vector>

#include "netlink/ipset/set.h"

namespace trellis::netlink {

enum class SetVerb : uint8_t { Add, Delete, Flush, Rename, Swap };

// Entries of one request as the kernel takes them, one behind the other.
class EncodedEntries {
 public:
  // `source`, which must live on, is what the entry was read from.
  void Add(SetEntry& entry, const json::Value& source);
  size_t size() const { return ends_.size(); }
  Bytes operator[](size_t index) const;
  // The entry as it was written by the caller.
  std::string_view TextOf(size_t index) const { return SetEntry::TextOf(*sources_[index]); }

 private:
  Batch bytes_;
  std::vector<size_t> ends_;
  std::vector<const json::Value*> sources_;
};

struct SetRequest {
  SetVerb verb = SetVerb::Add;
  bool isEntry = false;
  bool all = false;       // flush or delete every set
  bool exclusive = true;  // neither existsOk nor missingOk
  IpSet set;              // the set, or with isEntry its name
  std::string other;      // the new name, or the set to swap with
  SetMethod method = SetMethod::Hash;
  bool isMissing = false;  // entries of a set that does not exist
  EncodedEntries entries;
};

// What sets there will be when the requests read so far are done.
class SetCatalog {
 public:
  // Asks the kernel; nothing when there is no set of that name.
  using Ask = std::function<Opt<SetShape>(const std::string&)>;
  explicit SetCatalog(Ask ask) : ask_(std::move(ask)) {}

  SetRequest Read(const json::Value& request);
  const Opt<SetShape>& Find(const std::string& name);

 private:
  void ReadSet(FromJson& from, SetRequest& to);
  void ReadEntries(FromJson& from, SetRequest& to);

  Ask ask_;
  std::unordered_map<std::string, Opt<SetShape>> known_;
};

// Reads a list of entries for a set of that shape; errors tell which one is wrong.
EncodedEntries ReadEntryList(const json::Value& list, const SetShape& shape);

}  // namespace trellis::netlink
