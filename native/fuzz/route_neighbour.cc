// The decoder of neighbours and FDB entries, as dumps and events bring them.
#include <linux/rtnetlink.h>

#include "fuzz/fuzz.h"
#include "netlink/route/family.h"

FUZZ_TARGET { trellis::fuzz::DecodePayload(RTM_NEWNEIGH, input, trellis::netlink::WriteRouteObject); }
