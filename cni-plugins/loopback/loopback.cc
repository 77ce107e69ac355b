#include "loopback/loopback.h"

#include <sys/socket.h>

#include <cerrno>

#include "base/error.h"
#include "cni/container.h"
#include "cni/error.h"
#include "netlink/route/client.h"

namespace trellis::cni {

namespace {

constexpr const char* kDevice = "lo";

using netlink::RouteClient;

void SetUp(RouteClient& client, bool up) {
  netlink::Link link;
  link.name = kDevice;
  link.up = up;
  client.Do({{netlink::Verb::Change, std::move(link)}});
}

Result Add(const Request& request) {
  RouteClient client(OpenContainer(request));
  SetUp(client, true);
  if (request.previous) return *request.previous;  // chained: pass on what came before

  Result result;
  result.interfaces.push_back({kDevice, "00:00:00:00:00:00", request.env.netns, std::nullopt, {}, {}});
  const uint32_t index = client.LinkIndex(kDevice);
  for (const int family : {AF_INET, AF_INET6}) {
    bool found = false;
    client.List(RTM_GETADDR, {family, index, 0}, [&](const netlink::MessageView& message) {
      const auto address = netlink::Address::Decode(message);
      if (!found) result.ips.push_back({0, *address.address, std::nullopt});
      found = true;
    });
  }
  return result;
}

void Del(const Request& request) {
  if (request.env.netns.empty()) return;
  try {
    RouteClient client(NetNs::OpenPath(request.env.netns));
    SetUp(client, false);
  } catch (const KernelError& error) {
    if (error.error() != ENOENT && error.error() != EINVAL) throw;  // the namespace went before us
  }
}

void Check(const Request& request) {
  RouteClient client(OpenContainer(request));
  const auto link = client.FindLink(kDevice);
  if (!link || !link->up.value_or(false))
    throw Error(Code::Internal, "loopback interface is down", "bring lo up in " + request.env.netns + ", or run ADD again");
}

}  // namespace

const Plugin kLoopback = {"loopback", "brings a container's loopback interface up", Add, Del, Check, nullptr, nullptr};

}  // namespace trellis::cni
