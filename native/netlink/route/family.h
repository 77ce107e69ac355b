// The rtnetlink family: links, addresses, routes, rules, neighbours, qdiscs and classes of one namespace.
// Guarantees: a batch is checked whole before the first message is sent.
#pragma once
#include "netlink/route/client.h"
#include "session/family.h"

namespace trellis::netlink {

// Writes the object that an rtnetlink message tells of, as {"kind": ..., ...}; false for other kinds of message.
bool WriteRouteObject(const MessageView& message, json::Writer& to);

class RouteFamily : public Family {
 public:
  explicit RouteFamily(const NetNs& ns) : client_(ns) {}
  std::vector<Refusal> Apply(const Requests& requests) override;
  void Query(const json::Value& query, ObjectSink& sink) override;

 private:
  RouteClient client_;
};

}  // namespace trellis::netlink
