// The conntrack family: list, count, add and delete the tracked flows of one namespace.
// Guarantees: a delete touches exactly the flows that its filters match; a flow that ended meanwhile is no error.
#pragma once
#include "netlink/conntrack/filter.h"
#include "netlink/socket.h"
#include "session/family.h"

namespace trellis::netlink {

class ConntrackFamily : public Family {
 public:
  explicit ConntrackFamily(const NetNs& ns) : socket_(NETLINK_NETFILTER, ns) {}

  // {"do": "add", "kind": "flow", ...}
  std::vector<Refusal> Apply(const Requests& requests) override;

  // {"kind": "flow", "filters": [..]}     the flows that any filter matches; all if there is no such member
  // {"kind": "count", "filters": [..]}    {"count"}: how many those are; if there is no such member the kernel's own
  //                                       {"count", "max"}
  // {"kind": "delete", "filters": [..]}   deletes those flows in one pass and tells {"deleted"}
  // Deleting is a query because its caller wants the number; refusals are all that Apply can tell.
  void Query(const json::Value& query, ObjectSink& sink) override;

 private:
  using OnFlow = std::function<void(const MessageView&, conntrack::Flow&)>;
  void ForEachFlow(const conntrack::FilterSet& filters, const OnFlow& visit);
  void WriteStatistics(ObjectSink& sink);
  size_t Delete(const conntrack::FilterSet& filters);

  Socket socket_;
};

}  // namespace trellis::netlink
