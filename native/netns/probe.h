// Sends the first packet of a connection from inside a namespace, and tells what came back.
// Guarantees: the calling thread keeps its namespace; nothing of the connection is left: TCP ends with a reset.
#pragma once
#include <netinet/in.h>

#include <string>

#include "netns/netns.h"

namespace trellis {

struct Probe {
  std::string protocol;  // tcp, udp or sctp
  std::string from;
  in_port_t fromPort = 0;
  std::string to;
  in_port_t toPort = 0;
};

// "answered"; "refused" when the other side, or somebody on the way, says no; "silent" when nothing came in that time.
// A KernelError when it could not be sent: EADDRINUSE when the port it comes from is taken.
std::string SendProbe(const NetNs& netns, const Probe& probe, int timeoutMs);

}  // namespace trellis
