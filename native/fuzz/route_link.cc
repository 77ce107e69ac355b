// The decoder of links, as dumps and events bring them.
#include <linux/rtnetlink.h>

#include "fuzz/fuzz.h"
#include "netlink/route/family.h"

FUZZ_TARGET { trellis::fuzz::DecodePayload(RTM_NEWLINK, input, trellis::netlink::WriteRouteObject); }
