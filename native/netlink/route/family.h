// The rtnetlink family: links, addresses, routes, rules, neighbours, qdiscs and classes of one namespace.
// Guarantees: a batch is checked whole before the first message is sent; names of links made earlier in it resolve.
#pragma once
#include <string>
#include <unordered_map>
#include <variant>

#include "netlink/route/address.h"
#include "netlink/route/link.h"
#include "netlink/route/neighbour.h"
#include "netlink/route/qdisc.h"
#include "netlink/route/route.h"
#include "netlink/route/rule.h"
#include "netlink/socket.h"
#include "session/family.h"

namespace trellis::netlink {

using RouteObject = std::variant<Link, Address, Route, Rule, Neighbour, Qdisc>;

// Reads a request's object; `index` is for the error message.
struct RouteRequest {
  Verb verb;
  RouteObject object;

  static RouteRequest Read(const json::Value& request);
};

// Writes the object that an rtnetlink message tells of, as {"kind": ..., ...}; false for other kinds of message.
bool WriteRouteObject(const MessageView& message, json::Writer& to);

class RouteFamily : public Family {
 public:
  explicit RouteFamily(const NetNs& ns) : socket_(NETLINK_ROUTE, ns) {}
  std::vector<Refusal> Apply(const Requests& requests) override;
  void Query(const json::Value& query, ObjectSink& sink) override;

  // The index of a link; KernelError ENODEV if there is none of that name.
  uint32_t LinkIndex(const std::string& name);

 private:
  void QueryLink(const json::Value& query, ObjectSink& sink);
  Socket socket_;
};

}  // namespace trellis::netlink
