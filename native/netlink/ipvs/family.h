// The IPVS family: virtual services, destinations, timeouts and counters of one namespace.
// Guarantees: a batch is checked whole before the first message is sent; a kernel without ip_vs is told at the opening.
#pragma once
#include <variant>

#include "netlink/ipvs/destination.h"
#include "session/family.h"

namespace trellis::netlink {

// Seconds that connections are kept without traffic; 0 or nothing leaves one as it is.
struct IpvsTimeouts {
  Opt<uint32_t> tcp, tcpFin, udp;

  template <class C>
  void Describe(C& c) {
    c("tcp", IPVS_CMD_ATTR_TIMEOUT_TCP, tcp);
    c("tcpFin", IPVS_CMD_ATTR_TIMEOUT_TCP_FIN, tcpFin);
    c("udp", IPVS_CMD_ATTR_TIMEOUT_UDP, udp);
  }
  static IpvsTimeouts Decode(const MessageView& message);
};

struct IpvsInfo {
  Opt<std::string> version;  // "1.2.1"
  Opt<uint32_t> connectionTableSize;

  template <class C>
  void Describe(C& c) {
    c.Plain("version", version);
    c("connectionTableSize", IPVS_INFO_ATTR_CONN_TAB_SIZE, connectionTableSize);
  }
  static IpvsInfo Decode(const MessageView& message);
};

// Every service, or with a service's key that one's counters.
struct IpvsEverything {
  uint8_t command = 0;  // flush or zero
  Opt<IpvsServiceKey> service;
};

struct IpvsRequest {
  Verb verb = Verb::Add;
  std::variant<IpvsService, IpvsDestination, IpvsTimeouts, IpvsEverything> object;

  static IpvsRequest Read(const json::Value& request);
};

class IpvsFamily : public Family {
 public:
  explicit IpvsFamily(const NetNs& ns);
  std::vector<Refusal> Apply(const Requests& requests) override;
  void Query(const json::Value& query, ObjectSink& sink) override;

 private:
  template <class T>
  T Get(uint8_t command, const std::string& operation);
  void QueryServices(FromJson& from, ObjectSink& sink);
  void AddService(IpvsService service, bool destinations, ObjectSink& sink);
  void AddDestinations(const IpvsServiceKey& key, ObjectSink& sink);

  GenericSocket socket_;
  const GenericFamily& ipvs_;
};

}  // namespace trellis::netlink
