#include "xtables/family.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <linux/netfilter_ipv4/ip_tables.h>
#include <linux/netfilter_ipv6/ip6_tables.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "base/give_back.h"
#include "base/guard.h"
#include "xtables/request.h"

namespace trellis {

namespace {

using xtables::Hooks;
using xtables::KeptTable;
using xtables::Pages;
using xtables::Table;

// The structs of both families are laid out alike but for the entries, and the options have the same numbers.
static_assert(sizeof(ipt_getinfo) == sizeof(ip6t_getinfo) && sizeof(ipt_replace) == sizeof(ip6t_replace));
static_assert(offsetof(ipt_get_entries, entrytable) == offsetof(ip6t_get_entries, entrytable));
static_assert(IPT_SO_GET_INFO == IP6T_SO_GET_INFO && IPT_SO_GET_ENTRIES == IP6T_SO_GET_ENTRIES);
static_assert(IPT_SO_SET_REPLACE == IP6T_SO_SET_REPLACE && IPT_SO_SET_ADD_COUNTERS == IP6T_SO_SET_ADD_COUNTERS);

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

  KeptTable Read(const ipt_getinfo& info) const {
    Pages pages(offsetof(ipt_get_entries, entrytable) + info.size);
    auto* request = reinterpret_cast<ipt_get_entries*>(pages.data());
    std::memcpy(request->name, info.name, sizeof info.name);
    request->size = info.size;
    auto length = static_cast<socklen_t>(pages.size());
    if (getsockopt(socket, level(), IPT_SO_GET_ENTRIES, pages.data(), &length) != 0) ThrowErrno("read table " + table);
    return {HooksOf(info), info.num_entries, std::move(pages), offsetof(ipt_get_entries, entrytable)};
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
        found_(kept && IsStill(*kept, info_) ? *std::move(kept) : door_.Read(info_)),
        table_(xtables::LayoutOf(request.domain), found_.entries(), found_.hooks) {
    if (table_.found().entries != info_.num_entries) throw KernelError(EBADMSG, "read table " + request.table, "another number of entries");
    xtables::Change(table_, request);
    size_ = table_.Measure();
  }

  // 0, or what the kernel says. The counters begin at nothing and get what the old ones had when they were replaced.
  int Replace() {
    std::vector<xt_counters> old(info_.num_entries);
    std::vector<uint32_t> origins;
    if (const int error = Exchange(old, origins); error != 0) return error;
    Pages added(sizeof(xt_counters_info) + origins.size() * sizeof(xt_counters));
    auto* counters = reinterpret_cast<xt_counters_info*>(added.data());
    std::memcpy(counters->name, info_.name, sizeof info_.name);
    counters->num_counters = static_cast<unsigned>(origins.size());
    for (size_t i = 0; i < origins.size(); ++i)
      if (origins[i] != Table::kNew) counters->counters[i] = old[origins[i]];
    // The rules are in; only a program that ignores the lock can make this fail.
    door_.Set(IPT_SO_SET_ADD_COUNTERS, added);
    return 0;
  }

  size_t bytes() const { return size_.bytes; }
  // What is in the kernel after Replace.
  KeptTable Take() { return *std::move(written_); }

 private:
  // Another size is seen also where somebody ignores the lock.
  static bool IsStill(const KeptTable& kept, const ipt_getinfo& info) {
    return kept.count == info.num_entries && kept.entries().size() == info.size && kept.hooks == HooksOf(info);
  }

  int Exchange(std::vector<xt_counters>& old, std::vector<uint32_t>& origins) {
    Pages pages(sizeof(ipt_replace) + size_.bytes);
    origins.reserve(size_.entries);
    const Hooks hooks = table_.Write(pages.data() + sizeof(ipt_replace), origins);
    auto* replace = reinterpret_cast<ipt_replace*>(pages.data());
    std::memcpy(replace->name, info_.name, sizeof info_.name);
    replace->valid_hooks = hooks.valid;
    replace->num_entries = static_cast<unsigned>(size_.entries);
    replace->size = static_cast<unsigned>(size_.bytes);
    for (size_t hook = 0; hook < xtables::kHooks; ++hook) {
      replace->hook_entry[hook] = hooks.entry[hook];
      replace->underflow[hook] = hooks.underflow[hook];
    }
    replace->num_counters = static_cast<unsigned>(old.size());
    replace->counters = old.data();
    const int error = door_.Set(IPT_SO_SET_REPLACE, pages);
    written_.emplace(KeptTable{hooks, replace->num_entries, std::move(pages), sizeof(ipt_replace)});
    return error;
  }

  Door door_;
  ipt_getinfo info_;
  KeptTable found_;
  Table table_;
  Table::Size size_;
  std::optional<KeptTable> written_;
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

std::vector<Refusal> XtablesFamily::Apply(const Requests& requests) {
  const auto read = Read(requests);
  if (read.empty()) return {};
  if (!lock_ || lock_->path() != read[0].lock) lock_.emplace(read[0].lock);
  lock_->Take();
  bool written = false;
  const Guard left([&] { lock_->Leave(written); });
  if (!lock_->IsUndisturbed()) kept_.clear();
  GiveBack after;
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
