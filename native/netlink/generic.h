// Generic netlink: families known by name, whose numbers the kernel gives out at run time.
// Guarantees: a name is looked up once for each socket.
#pragma once
#include <linux/genetlink.h>

#include <map>
#include <string>

#include "netlink/socket.h"

namespace trellis::netlink {

struct GenericFamily {
  uint16_t id = 0;
  uint32_t version = 0;
  std::map<std::string, uint32_t> groups;  // multicast groups by name, for Socket::Join

  static GenericFamily Decode(const MessageView& message);
};

class GenericSocket : public Socket {
 public:
  explicit GenericSocket(const NetNs& ns) : Socket(NETLINK_GENERIC, ns) {}

  // KernelError ENOENT when the kernel has no family of that name; asking makes it load the module that has.
  const GenericFamily& Resolve(const std::string& name);

 private:
  std::map<std::string, GenericFamily> families_;
};

// Starts a message of the family; ended by batch.End().
void BeginGeneric(Batch& batch, const GenericFamily& family, uint8_t command, uint16_t flags, size_t owner = 0);

}  // namespace trellis::netlink
