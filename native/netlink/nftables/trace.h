// The kernel's own trace of packets through nf_tables: which rule each packet with the trace mark met, and what became of it.
// Guarantees: in the order in which a packet met them; headers are told as bytes, with the first event of each chain of hooks.
#pragma once
#include <string>

#include "netlink/monitor.h"

namespace trellis::netlink {

// Of the tables of that name alone; of every table when it is empty.
EventSource NftTraces(const std::string& table);

// {"id":7,"family":"ip","table":"t","chain":"c","handle":3,"type":"rule","verdict":"drop","network":"45...","transport":"..."}
void WriteNftTrace(const MessageView& message, const std::string& table, json::Writer& to);

}  // namespace trellis::netlink
