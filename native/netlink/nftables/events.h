// Events of nf_tables: who committed which generation, and which tables, chains, rules and sets came and went with it.
// Guarantees: in the order of the transaction, with its "generation" last. Of what is gone little more than its name is told.
#pragma once
#include "netlink/monitor.h"

namespace trellis::netlink {

EventSource NftEvents();

// {"event":"generation","generation":7,"pid":42,"processName":"nft"} or {"event":"new"|"delete","object":{...}}.
std::string ReadNftEvents(Bytes datagram);

}  // namespace trellis::netlink
