// The ipset family: sets and their entries in one namespace.
// Guarantees: a batch is read whole before the first change; the protocol's version is agreed on when it is opened.
#pragma once
#include <map>
#include <string>

#include "netlink/ipset/request.h"
#include "netlink/socket.h"
#include "session/family.h"

namespace trellis::netlink {

// The versions the kernel speaks, from its answer to IPSET_CMD_PROTOCOL.
struct IpsetProtocol {
  uint8_t newest = 0;
  uint8_t oldest = 0;
  static IpsetProtocol Decode(const MessageView& message);
};

// Calls `visit` for each entry of one message of a listing.
void ForEachEntry(const MessageView& message, const std::function<void(const SetEntry&)>& visit);

class IpsetFamily : public Family {
 public:
  // KernelError when the kernel has no ipset or none of the versions we speak.
  explicit IpsetFamily(const NetNs& ns);
  std::vector<Refusal> Apply(const Requests& requests) override;
  void Query(const json::Value& query, ObjectSink& sink) override;

 private:
  Opt<SetShape> AskShape(const std::string& name);
  uint8_t AskRevision(const SetType& type, uint8_t family);
  void QuerySets(FromJson& from, ObjectSink& sink);
  void QueryMembership(FromJson& from, ObjectSink& sink);

  Socket socket_;
  uint8_t protocol_ = 0;
  std::map<std::pair<std::string_view, uint8_t>, uint8_t> revisions_;
};

}  // namespace trellis::netlink
