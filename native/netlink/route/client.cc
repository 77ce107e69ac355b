#include "netlink/route/client.h"

#include <net/if.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <cerrno>

#include "base/error.h"

namespace trellis::netlink {

namespace {

// What may wait before it is sent: enough for full datagrams, little enough to bound memory.
constexpr size_t kFlushSize = 1024 * 1024;
// Namespaces held open until their messages are sent; a process may have as few as 1024 descriptors.
constexpr size_t kFlushNamespaces = 128;

// Builds the dump request. With strict checking on the socket, what stands in the header filters in the kernel.
void PutListRequest(Batch& batch, uint16_t getType, const RouteFilter& filter) {
  const auto& [family, dev, table] = filter;
  batch.Begin(getType, NLM_F_DUMP);
  switch (getType) {
    case RTM_GETLINK:
      batch.Header(
          ifinfomsg{.ifi_family = AF_UNSPEC, .__ifi_pad = 0, .ifi_type = 0, .ifi_index = 0, .ifi_flags = 0, .ifi_change = 0});
      break;
    case RTM_GETADDR:
      batch.Header(ifaddrmsg{static_cast<uint8_t>(family), 0, 0, 0, dev});
      break;
    case RTM_GETROUTE: {
      rtmsg head{};
      head.rtm_family = static_cast<uint8_t>(family);
      batch.Header(head);
      if (table != 0) batch.PutValue(RTA_TABLE, table);
      if (dev != 0) batch.PutValue(RTA_OIF, dev);
      break;
    }
    case RTM_GETRULE: {
      fib_rule_hdr head{};
      head.family = static_cast<uint8_t>(family);
      batch.Header(head);
      break;
    }
    case RTM_GETNEIGH: {
      ndmsg head{};
      head.ndm_family = static_cast<uint8_t>(family);
      // The FDB dump reads the header's index, the neighbour dump only the attribute.
      if (family == AF_BRIDGE) head.ndm_ifindex = static_cast<int>(dev);
      batch.Header(head);
      if (dev != 0 && family != AF_BRIDGE) batch.PutValue(NDA_IFINDEX, dev);
      break;
    }
    default: {
      tcmsg head{};
      head.tcm_ifindex = static_cast<int>(dev);
      batch.Header(head);
    }
  }
  batch.End();
}

// "add link eth0", for errors.
std::string Describe(const RouteRequest& request) {
  std::string text(*WordOf(kVerbs, static_cast<uint32_t>(request.verb)));
  std::visit(
      [&](const auto& object) {
        using T = std::decay_t<decltype(object)>;
        if constexpr (std::is_same_v<T, Link>) text += " link " + object.name.value_or("");
        else if constexpr (std::is_same_v<T, Address>) text += " address " + object.address->ToString();
        else if constexpr (std::is_same_v<T, Route>)
          text += " route " + (object.destination ? object.destination->ToString() : "default");
        else if constexpr (std::is_same_v<T, Rule>) text += " rule";
        else if constexpr (std::is_same_v<T, Neighbour>)
          text += " neighbour " + (object.address ? object.address->ToString() : object.mac->ToString());
        else text += " qdisc";
      },
      request.object);
  return text;
}

// What the kernel lists although the filter speaks against it.
bool IsLeftOut(const MessageView& message, uint16_t getType, const RouteFilter& filter) {
  if (message.header.nlmsg_type < RTM_BASE) return true;
  // Traffic control does not filter by link itself.
  if (getType == RTM_GETQDISC && filter.dev != 0) return message.Head<tcmsg>().tcm_ifindex != static_cast<int>(filter.dev);
  // Multicast routing keeps its rules under families of its own (128, 129); they are not `ip rule`'s.
  return getType == RTM_GETRULE && message.Head<fib_rule_hdr>().family >= 128;
}

}  // namespace

uint32_t RouteClient::LinkIndex(const std::string& name) {
  ifreq request{};
  if (name.size() >= sizeof request.ifr_name) throw KernelError(ENODEV, "find link " + name, "the name is longer than 15 bytes");
  memcpy(request.ifr_name, name.data(), name.size());
  if (ioctl(socket_.fd(), SIOCGIFINDEX, &request) != 0)
    throw KernelError(errno, "find link " + name, "no link is called '" + name + "'");
  return static_cast<uint32_t>(request.ifr_ifindex);
}

Opt<Link> RouteClient::FindLink(const std::string& name) {
  Opt<Link> found;
  GetLink(name, [&](const MessageView& message) { found = Link::Decode(message); });
  return found;
}

void RouteClient::GetLink(const std::string& name, const Socket::OnMessage& onLink) {
  Batch batch;
  batch.Begin(RTM_GETLINK, 0);
  batch.Header(ifinfomsg{});
  batch.PutString(IFLA_IFNAME, name);
  batch.End();
  const auto failures = socket_.Exchange(batch, onLink);
  if (!failures.empty() && failures[0].error != ENODEV)
    throw KernelError(failures[0].error, "get link " + name, failures[0].text);
}

void RouteClient::Do(std::vector<RouteRequest> requests) {
  for (const auto& request : requests) std::visit([&](const auto& object) { object.Check(request.verb); }, request.object);
  RouteBatch batch(*this);
  for (size_t i = 0; i < requests.size(); ++i) batch.Do(requests[i], i);
  const auto failures = batch.Finish();
  if (!failures.empty()) throw KernelError(failures[0].error, Describe(requests[failures[0].owner]), failures[0].text);
}

void RouteClient::List(uint16_t getType, const RouteFilter& filter, const Socket::OnMessage& onObject) {
  Batch batch;
  PutListRequest(batch, getType, filter);
  for (const auto& datagram : socket_.Dump(batch, "list rtnetlink objects"))
    ForEachMessage(datagram, [&](const MessageView& message) {
      if (!IsLeftOut(message, getType, filter)) onObject(message);
    });
}

void RouteBatch::Do(RouteRequest request, size_t owner) {
  try {
    std::visit([&](auto& object) { Encode(object, request.verb, owner); }, request.object);
  } catch (const KernelError& error) {
    if (broken_) throw;
    failures_.push_back({owner, error.error(), error.text().empty() ? error.operation() : error.text()});
  }
}

std::vector<Failure> RouteBatch::Finish() {
  Flush();
  return std::move(failures_);
}

template <class T>
void RouteBatch::Encode(T& object, Verb verb, size_t owner) {
  ResolveLinks resolve([this](const std::string& name) { return Resolve(name); });
  object.Describe(resolve);
  if constexpr (std::is_same_v<T, Link>) PrepareLink(object, verb);
  if (batch_.size() >= kFlushSize || batch_.kept() >= kFlushNamespaces) Flush();
  const size_t before = batch_.messages().size();
  try {
    object.Encode(batch_, verb, owner);
  } catch (...) {
    while (batch_.messages().size() > before) batch_.Abandon();
    throw;
  }
}

// After a deletion, a renaming or a move, a name may mean another link; adding one changes no other's.
void RouteBatch::PrepareLink(Link& link, Verb verb) {
  if (link.newName && !link.index) link.index = Resolve(*link.name);
  if (verb == Verb::Delete || link.newName || link.netns) indexes_.clear();
}

uint32_t RouteBatch::Resolve(const std::string& name) {
  const auto known = indexes_.find(name);
  if (known != indexes_.end()) return known->second;
  Flush();  // the link may be one that this batch makes
  const uint32_t index = client_.LinkIndex(name);
  indexes_[name] = index;
  return index;
}

void RouteBatch::Flush() {
  if (batch_.empty()) return;
  Batch sending = std::exchange(batch_, {});
  std::vector<Failure> failures;
  try {
    failures = client_.socket().Exchange(sending);
  } catch (const KernelError&) {
    broken_ = true;  // the way to the kernel failed, not one of the requests
    throw;
  }
  for (Failure& failure : failures) {
    // A link whose creation failed fails again at its port options; once is enough.
    if (!failures_.empty() && failures_.back().owner == failure.owner) continue;
    failures_.push_back(std::move(failure));
  }
}

}  // namespace trellis::netlink
