// Builds netlink messages, many in one buffer.
// Guarantees: lengths and padding are right, an attribute or message that cannot be expressed is an InputError.
#pragma once
#include <linux/netlink.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fd.h"
#include "base/ip.h"

namespace trellis::netlink {

class Batch {
 public:
  // Where a message lies and which request it belongs to.
  struct Message {
    size_t offset;
    size_t owner;
  };

  // Starts a message that belongs to request number `owner`; ended by End().
  void Begin(uint16_t type, uint16_t flags, size_t owner = 0);
  void End();
  // Forgets the message begun last, as when its request turned out to be wrong half way.
  void Abandon();

  template <class T>
  void Header(const T& header) {
    static_assert(std::is_trivially_copyable_v<T>);
    Append(&header, sizeof header);
  }

  void Put(uint16_t type, const void* data, size_t size);
  void Put(uint16_t type, Bytes data) { Put(type, data.data(), data.size()); }
  template <class T>
  requires std::is_trivially_copyable_v<T> &&(!std::is_pointer_v<T>)void PutValue(uint16_t type, const T& value) {
    Put(type, &value, sizeof value);
  }
  // With the closing NUL that the kernel's string policies count on.
  void PutString(uint16_t type, std::string_view text);
  void PutFlag(uint16_t type) { Put(type, nullptr, 0); }

  // Opens a nested attribute; the result goes to EndNest.
  size_t BeginNest(uint16_t type, uint16_t flag = NLA_F_NESTED);
  void EndNest(size_t start);
  // Payload bytes of the nest so far, for splitting long lists below the 64 KiB an attribute can hold.
  size_t NestSize(size_t start) const { return bytes_.size() - start; }
  void Append(const void* data, size_t size);

  // A descriptor that messages name by number and that must stay open until they are sent.
  int Keep(Fd fd);
  size_t kept() const { return kept_.size(); }

  bool empty() const { return messages_.empty(); }
  const std::vector<Message>& messages() const { return messages_; }
  nlmsghdr* At(size_t index) { return reinterpret_cast<nlmsghdr*>(bytes_.data() + messages_[index].offset); }
  const uint8_t* data() const { return bytes_.data(); }
  size_t size() const { return bytes_.size(); }
  void Clear();

 private:
  void Pad();
  std::vector<uint8_t> bytes_;
  std::vector<Message> messages_;
  std::vector<Fd> kept_;
};

}  // namespace trellis::netlink
