// Where our plugins differ from the reference ones on purpose, each with its reason.
// Guarantees: a difference that is not in this table fails the comparison.
import type { Seen } from './comparedHost.js';

interface Difference {
  readonly what: string;
  readonly reason: string;
  /** Takes the difference out of what was seen of either side. */
  readonly forget: (seen: Seen) => Seen;
}

/** Rewrites what was seen member by member; `undefined` takes a member out. */
const rewrite = (seen: Seen, replace: (key: string, value: unknown) => unknown): Seen =>
  JSON.parse(JSON.stringify(seen, replace)) as Seen;

/** The addresses of a result of loopback, whichever shape it has. */
function loopbackAddresses(value: unknown): string | undefined {
  const text = JSON.stringify(value);
  const addresses = text.match(/127\.0\.0\.1\/8|::1\/128/g) ?? [];
  return addresses.length > 0 && text.includes('cniVersion') ? `loopback: ${addresses.join()}` : undefined;
}

const ON_PURPOSE: readonly Difference[] = [
  {
    what: 'a file boot_id beside the reservations',
    reason: 'tells addresses of a former boot, which the reference leaks',
    forget: (seen) => rewrite(seen, (key, value) => (key === 'boot_id' ? undefined : value)),
  },
  {
    what: 'IPv6 addresses carry nodad',
    reason: "an address handed out by IPAM is nobody else's, and waiting for detection takes seconds",
    forget: (seen) => rewrite(seen, (key, value) => (key === 'nodad' ? undefined : value)),
  },
  {
    what: 'veth pairs have the transmit queue length of the kernel',
    reason: 'the reference sets it to 0, with which a qdisc added later drops everything',
    forget: (seen) => rewrite(seen, (key, value) => (key === 'txqlen' ? undefined : value)),
  },
  {
    what: 'a bridge has a hardware address of its own from the first port on',
    reason: 'the reference lets a bridge without gateway have that of a port, and lose it with the port',
    forget: (seen) =>
      rewrite(seen, (_, value) =>
        typeof value === 'string'
          ? value.replace(/mac of (br0|cni0|cnio0|veth#\d) in host|^(00:){5}00$/, 'mac in host')
          : value,
      ),
  },
  {
    what: 'results of loopback have the shape of their version',
    reason: 'the reference writes the newest shape under the name of the older version',
    forget: (seen) => ({
      ...seen,
      answers: seen.answers.map((answer) => loopbackAddresses(answer) ?? answer),
    }),
  },
];

export const withoutIntendedDifferences = (seen: Seen): Seen =>
  ON_PURPOSE.reduce((rest, { forget }) => forget(rest), seen);
