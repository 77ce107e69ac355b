#include "xtables/family.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/trim_heap.h"
#include "base/guard.h"
#include "xtables/request.h"

namespace trellis {

namespace {

using xtables::Arrangement;
using xtables::Hooks;
using xtables::KeptTable;
using xtables::Pages;
using xtables::Table;

// The structs of both families are laid out alike but for the entries, and the options have the same numbers.
static_assert(sizeof(ipt_getinfo) == sizeof(ip6t_getinfo) && sizeof(ipt_replace) == sizeof(ip6t_replace));
static_assert(offsetof(ipt_get_entries, entrytable) == offsetof(ip6t_get_entries, entrytable));
static_assert(IPT_SO_GET_INFO == IP6T_SO_GET_INFO && IPT_SO_GET_ENTRIES == IP6T_SO_GET_ENTRIES);
static_assert(IPT_SO_SET_REPLACE == IP6T_SO_SET_REPLACE && IPT_SO_SET_ADD_COUNTERS == IP6T_SO_SET_ADD_COUNTERS);

// A table is taken behind this struct, and so is kept behind room for it.
constexpr size_t kEntriesAt = sizeof(ipt_replace);
static_assert(kEntriesAt >= offsetof(ipt_get_entries, entrytable) && kEntriesAt % alignof(ipt_get_entries) == 0);
static_assert(offsetof(ipt_get_entries, entrytable) % alignof(ipt_get_entries) == 0);

Hooks HooksOf(const ipt_getinfo& info) {
  Hooks hooks{.valid = info.valid_hooks};
  for (size_t hook = 0; hook < xtables::kHooks; ++hook) {
    // The others hold what can be no place.
    if ((hooks.valid >> hook & 1) == 0) continue;
    hooks.entry[hook] = info.hook_entry[hook];
    hooks.underflow[hook] = info.underflow[hook];
  }
  return hooks;
}

// One table of one family behind its socket.
struct Door {
  int socket;
  int domain;
  std::string table;

  int level() const { return domain == AF_INET ? IPPROTO_IP : IPPROTO_IPV6; }

  ipt_getinfo Info() const {
    ipt_getinfo info{};
    std::memcpy(info.name, table.data(), table.size());
    socklen_t length = sizeof info;
    if (getsockopt(socket, level(), IPT_SO_GET_INFO, &info, &length) != 0) ThrowErrno("look at table " + table);
    return info;
  }

  Pages Read(const ipt_getinfo& info) const {
    constexpr size_t kBefore = kEntriesAt - offsetof(ipt_get_entries, entrytable);
    Pages pages(kEntriesAt + info.size);
    auto* request = reinterpret_cast<ipt_get_entries*>(pages.data() + kBefore);
    std::memcpy(request->name, info.name, sizeof info.name);
    request->size = info.size;
    auto length = static_cast<socklen_t>(pages.size() - kBefore);
    if (getsockopt(socket, level(), IPT_SO_GET_ENTRIES, request, &length) != 0) ThrowErrno("read table " + table);
    return pages;
  }

  int Set(int option, const Pages& pages) const {
    return setsockopt(socket, level(), option, pages.data(), static_cast<socklen_t>(pages.size())) == 0 ? 0 : errno;
  }
};

// A table that was read, or kept from when it was last written, changed in memory.
class Changed {
 public:
  Changed(Door door, const xtables::Request& request, std::optional<KeptTable> kept)
      : door_(std::move(door)),
        info_(door_.Info()),
        pages_(kept && IsStill(*kept, info_) ? std::move(kept->pages) : door_.Read(info_)),
        table_(xtables::LayoutOf(request.domain), pages_.bytes().subspan(kEntriesAt), HooksOf(info_)) {
    if (table_.found().entries != info_.num_entries)
      throw KernelError(EBADMSG, "read table " + request.table, "another number of entries");
    xtables::Change(table_, request);
    wanted_ = table_.Arrange();
  }

  // 0, or what the kernel says. The counters begin at nothing and get what the old ones had when they were replaced.
  int Replace() {
    std::vector<xt_counters> old(info_.num_entries);
    if (const int error = Exchange(old); error != 0) return error;
    Pages added(sizeof(xt_counters_info) + wanted_.size.entries * sizeof(xt_counters));
    auto* counters = reinterpret_cast<xt_counters_info*>(added.data());
    std::memcpy(counters->name, info_.name, sizeof info_.name);
    counters->num_counters = static_cast<unsigned>(wanted_.size.entries);
    for (size_t i = 0; i < wanted_.size.entries; ++i)
      if (const uint32_t origin = wanted_.origins[i]; origin != Arrangement::kNew) counters->counters[i] = old[origin];
    // The rules are in; only a program that ignores the lock can make this fail.
    door_.Set(IPT_SO_SET_ADD_COUNTERS, added);
    return 0;
  }

  size_t bytes() const { return wanted_.size.bytes; }
  // What is in the kernel after Replace.
  KeptTable Take() { return {wanted_.hooks, wanted_.size.entries, std::move(pages_)}; }

 private:
  // Another size is seen also where somebody ignores the lock.
  static bool IsStill(const KeptTable& kept, const ipt_getinfo& info) {
    return kept.count == info.num_entries && kept.entries().size() == info.size && kept.hooks == HooksOf(info);
  }

  int Exchange(std::vector<xt_counters>& old) {
    Write();
    auto* replace = reinterpret_cast<ipt_replace*>(pages_.data());
    std::memcpy(replace->name, info_.name, sizeof info_.name);
    replace->valid_hooks = wanted_.hooks.valid;
    replace->num_entries = static_cast<unsigned>(wanted_.size.entries);
    replace->size = static_cast<unsigned>(wanted_.size.bytes);
    for (size_t hook = 0; hook < xtables::kHooks; ++hook) {
      replace->hook_entry[hook] = wanted_.hooks.entry[hook];
      replace->underflow[hook] = wanted_.hooks.underflow[hook];
    }
    replace->num_counters = static_cast<unsigned>(old.size());
    replace->counters = old.data();
    return door_.Set(IPT_SO_SET_REPLACE, pages_);
  }

  // From here on the table that was read is no more.
  void Write() {
    const size_t size = kEntriesAt + wanted_.size.bytes;
    if (wanted_.inOrder) {
      pages_.Resize(std::max(size, pages_.size()));
      wanted_.WriteOver(pages_.data() + kEntriesAt);
      pages_.Resize(size);
    } else {
      Pages fresh(size);
      wanted_.WriteTo(fresh.data() + kEntriesAt, pages_.data() + kEntriesAt);
      pages_ = std::move(fresh);
    }
  }

  Door door_;
  ipt_getinfo info_;
  Pages pages_;
  Table table_;
  Arrangement wanted_;
};

std::vector<xtables::Request> Read(const Requests& requests) {
  std::vector<xtables::Request> read;
  std::set<std::pair<int, std::string>> tables;
  for (size_t i = 0; i < requests.size(); ++i) {
    try {
      read.push_back(xtables::Request::Read(*requests[i]));
      if (!tables.insert({read[i].domain, read[i].table}).second) throw InputError("the same table twice");
      if (read[i].lock != read[0].lock) throw InputError("another lock than the first");
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
  }
  return read;
}

}  // namespace

Bytes xtables::KeptTable::entries() const { return pages.bytes().subspan(kEntriesAt); }

std::vector<Refusal> XtablesFamily::Apply(const Requests& requests) {
  const auto read = Read(requests);
  if (read.empty()) return {};
  if (!lock_ || lock_->path() != read[0].lock) lock_.emplace(read[0].lock);
  lock_->Take();
  bool written = false;
  const Guard left([&] { lock_->Leave(written); });
  if (!lock_->IsUndisturbed()) kept_.clear();
  TrimHeap after;
  std::vector<Changed> changed;
  changed.reserve(read.size());
  for (size_t i = 0; i < read.size(); ++i) {
    const auto kept = kept_.extract({read[i].domain, read[i].table});
    try {
      changed.emplace_back(Door{SocketOf(read[i].domain), read[i].domain, read[i].table}, read[i],
                           kept ? std::optional(std::move(kept.mapped())) : std::nullopt);
    } catch (const InputError& error) {
      throw RequestError(i, error.what());
    }
    after.Add(changed[i].bytes());
  }
  for (size_t i = 0; i < changed.size(); ++i) {
    written = true;
    if (const int error = changed[i].Replace(); error != 0) return {{i, error, {}}};
    kept_.emplace(std::pair(read[i].domain, read[i].table), changed[i].Take());
  }
  return {};
}

int XtablesFamily::SocketOf(int domain) {
  Fd& fd = domain == AF_INET ? four_ : six_;
  if (!fd)
    ns_.Run([&] {
      fd = Fd(::socket(domain, SOCK_RAW | SOCK_CLOEXEC, IPPROTO_RAW));
      if (!fd) ThrowErrno("open a raw socket");
    });
  return fd.get();
}

void XtablesFamily::Query(const json::Value& query, ObjectSink& sink) {
  if (xtables::TextOf(query, "kind") != "table") throw InputError("field 'kind' must be table");
  const int domain = xtables::DomainOf(query);
  const std::string table = xtables::TableOf(query);
  const ipt_getinfo info = Door{SocketOf(domain), domain, table}.Info();
  sink.Add([&](json::Writer& to) {
    to.BeginObject();
    to.Key("entries");
    to.Unsigned(info.num_entries);
    to.Key("size");
    to.Unsigned(info.size);
    to.EndObject();
  });
}

}  // namespace trellis
