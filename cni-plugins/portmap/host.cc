#include "portmap/host.h"

#include <net/if.h>
#include <sys/socket.h>

#include "base/error.h"
#include "cni/container.h"
#include "netlink/conntrack/family.h"
#include "netlink/route/client.h"

namespace trellis::cni::portmap {

namespace {

using netlink::RouteClient;

// The index of the interface by which the host reaches the address, or 0.
uint32_t InterfaceTowards(const IpAddress& address) {
  netlink::Batch batch;
  batch.Begin(RTM_GETROUTE, 0);
  rtmsg header{};
  header.rtm_family = static_cast<unsigned char>(address.family());
  header.rtm_dst_len = static_cast<unsigned char>(address.length * 8);
  batch.Header(header);
  batch.Put(RTA_DST, address.bytes());
  batch.End();
  uint32_t index = 0;
  RouteClient client{NetNs()};
  client.socket().Exchange(batch, [&](const netlink::MessageView& message) {
    const auto route = netlink::Route::Decode(message);
    if (route.dev) index = route.dev->index;
  });
  return index;
}

std::vector<std::string> LocalAddresses(int family) {
  std::vector<std::string> addresses;
  if (family == AF_INET) addresses.emplace_back("127.0.0.0/8");
  RouteClient client{NetNs()};
  client.List(RTM_GETADDR, {family, 0, 0}, [&](const netlink::MessageView& message) {
    const auto address = netlink::Address::Decode(message);
    if (address.address) addresses.push_back(address.address->address.ToString());
  });
  return addresses;
}

std::string FiltersOf(const Publication& publication) {
  const bool v6 = publication.IsV6();
  const auto destinations =
      publication.hostIp ? std::vector{publication.hostIp->ToString()} : LocalAddresses(v6 ? AF_INET6 : AF_INET);
  std::string filters;
  for (const std::string& destination : destinations)
    filters +=
        (filters.empty() ? R"({"protocol":"udp","originalDestination":")" : R"(,{"protocol":"udp","originalDestination":")") +
        destination + R"(","originalDestinationPort":)" + std::to_string(publication.hostPort) + "}";
  return filters;
}

}  // namespace

void AllowLocalhost(const IpAddress& container) {
  const uint32_t index = InterfaceTowards(container);
  char name[IF_NAMESIZE];
  if (index != 0 && if_indextoname(index, name) != nullptr)
    SetSysctl(NetNs(), std::string("net/ipv4/conf/") + name + "/route_localnet", "1");
}

void ForgetFlows(const std::vector<Publication>& publications) {
  std::string filters;
  for (const Publication& publication : publications) {
    if (publication.protocol != "udp") continue;
    const std::string more = FiltersOf(publication);
    if (!more.empty()) filters += (filters.empty() ? "" : ",") + more;
  }
  if (filters.empty()) return;
  const json::Document query(R"({"kind":"delete","filters":[)" + filters + "]}");
  ObjectSink sink;
  try {
    netlink::ConntrackFamily(NetNs()).Query(query.root(), sink);
  } catch (const KernelError&) {
    // the rules stand, and new flows follow them
  }
}

}  // namespace trellis::cni::portmap
