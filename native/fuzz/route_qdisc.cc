// The decoder of queueing disciplines, as dumps and events bring them.
#include <linux/rtnetlink.h>

#include "fuzz/fuzz.h"
#include "netlink/route/family.h"

FUZZ_TARGET { trellis::fuzz::DecodePayload(RTM_NEWQDISC, input, trellis::netlink::WriteRouteObject); }
