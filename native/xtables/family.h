// The legacy tables of iptables: how large one is. Their rules are written by iptables-legacy-restore.
// Guarantees: a look costs one getsockopt, whatever the table holds. The table must be there: asking makes it.
#pragma once

#include "base/fd.h"
#include "session/family.h"

namespace trellis {

class XtablesFamily : public Family {
 public:
  explicit XtablesFamily(const NetNs& ns) : ns_(ns) {}
  std::vector<Refusal> Apply(const Requests& requests) override;
  // {"kind": "table", "family": "ip", "name": "nat"} is answered with {"entries": 12, "size": 2048}.
  void Query(const json::Value& query, ObjectSink& sink) override;

 private:
  int SocketOf(int domain);

  NetNs ns_;
  Fd four_, six_;  // opened when first needed
};

}  // namespace trellis
