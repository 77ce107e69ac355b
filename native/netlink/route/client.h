// rtnetlink for C++ callers: requests in batches, lists by kind.
// Guarantees: requests are done in order; names of links made earlier in a batch resolve.
#pragma once
#include <functional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include "netlink/route/address.h"
#include "netlink/route/link.h"
#include "netlink/route/neighbour.h"
#include "netlink/route/qdisc.h"
#include "netlink/route/route.h"
#include "netlink/route/rule.h"
#include "netlink/socket.h"

namespace trellis::netlink {

using RouteObject = std::variant<Link, Address, Route, Rule, Neighbour, Qdisc>;

struct RouteRequest {
  Verb verb;
  RouteObject object;

  // From {"do": ..., "kind": ..., fields}; InputError if it makes no sense.
  static RouteRequest Read(const json::Value& request);
};

// What a list is narrowed to.
struct RouteFilter {
  int family = 0;
  uint32_t dev = 0;
  uint32_t table = 0;
};

class RouteClient {
 public:
  explicit RouteClient(const NetNs& ns) : socket_(NETLINK_ROUTE, ns) {}

  // The index of a link; KernelError ENODEV if there is none of that name.
  uint32_t LinkIndex(const std::string& name);
  // The link of that name, if there is one.
  Opt<Link> FindLink(const std::string& name);
  // The message that tells of one link, if there is a link of that name.
  void GetLink(const std::string& name, const Socket::OnMessage& onLink);
  // Does the requests, which need not be checked yet; throws at the first that is refused, after trying all.
  void Do(std::vector<RouteRequest> requests);
  // Every object of a kind, by the type of its GET message (RTM_GETLINK, ...).
  void List(uint16_t getType, const RouteFilter& filter, const Socket::OnMessage& onObject);

  Socket& socket() { return socket_; }

 private:
  Socket socket_;
};

// One pass of requests: what waits to be sent, what is known of names, what was refused.
class RouteBatch {
 public:
  explicit RouteBatch(RouteClient& client) : client_(client) {}

  // Checked requests only. `owner` is told with a refusal.
  void Do(RouteRequest request, size_t owner);
  // Sends what still waits and tells all refusals, at most one of each owner.
  std::vector<Failure> Finish();

 private:
  template <class T>
  void Encode(T& object, Verb verb, size_t owner);
  void PrepareLink(Link& link, Verb verb);
  uint32_t Resolve(const std::string& name);
  void Flush();

  RouteClient& client_;
  Batch batch_;
  std::unordered_map<std::string, uint32_t> indexes_;
  std::vector<Failure> failures_;
  bool broken_ = false;
};

}  // namespace trellis::netlink
