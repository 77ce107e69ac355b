#include "cni/random.h"

#include <sys/random.h>

#include <algorithm>

#include "base/error.h"

namespace trellis::cni {

std::string RandomBytes(size_t count) {
  std::string bytes(count, '\0');
  if (getrandom(bytes.data(), bytes.size(), 0) != static_cast<ssize_t>(count)) ThrowErrno("read random bytes");
  return bytes;
}

HardwareAddress RandomMac() {
  HardwareAddress mac;
  mac.length = 6;
  const std::string bytes = RandomBytes(6);
  std::copy(bytes.begin(), bytes.end(), mac.octets.begin());
  mac.octets[0] = static_cast<uint8_t>((mac.octets[0] & 0xFE) | 0x02);
  return mac;
}

}  // namespace trellis::cni
