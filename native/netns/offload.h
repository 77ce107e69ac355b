// Checksums that a device leaves to the hardware below it: whether it does, and whether what is sent so arrives.
// Guarantees: the calling thread keeps its namespace; every socket is closed again.
#pragma once
#include <string>

#include "netns/netns.h"

namespace trellis {

bool ReadTxChecksum(const NetNs& netns, const std::string& device);
void WriteTxChecksum(const NetNs& netns, const std::string& device, bool on);

// Sends a datagram to a port where nobody listens, and waits for the kernel at `to` to say so. It does only for a
// datagram whose checksum is right. False after the time is over, whatever the reason.
bool IsDatagramRefused(const NetNs& netns, const std::string& from, const std::string& to, int timeoutMs);

}  // namespace trellis
