// The legacy tables of iptables: how large one is, and changes, for which the kernel gives and takes whole tables.
// Guarantees: a look costs one getsockopt, whatever the table holds. A change is made under the lock of iptables, keeps the
// rules and counters of others, and is refused before any table is written if a step of it cannot be done. What was written
// is kept, so that it need not be read again unless somebody else has held the lock or the table is of another size.
// The table must be there: asking makes it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "base/fd.h"
#include "session/family.h"
#include "xtables/lock.h"
#include "xtables/pages.h"
#include "xtables/table.h"

namespace trellis {

namespace xtables {

// A table as it is in the kernel.
struct KeptTable {
  Hooks hooks;
  size_t count;  // of entries
  Pages pages;   // the entries, behind room for what the kernel wants before them

  Bytes entries() const;
};

}  // namespace xtables

class XtablesFamily : public Family {
 public:
  explicit XtablesFamily(const NetNs& ns) : ns_(ns) {}
  // See xtables::Request. EAGAIN, with nothing done, while another program holds the lock. After a table that the kernel
  // refuses the later ones are not written.
  std::vector<Refusal> Apply(const Requests& requests) override;
  // {"kind": "table", "family": "ip", "name": "nat"} is answered with {"entries": 12, "size": 2048}.
  void Query(const json::Value& query, ObjectSink& sink) override;

 private:
  int SocketOf(int domain);

  NetNs ns_;
  Fd four_, six_;  // opened when first needed
  std::optional<xtables::Lock> lock_;
  std::map<std::pair<int, std::string>, xtables::KeptTable> kept_;  // by domain and name
};

}  // namespace trellis
