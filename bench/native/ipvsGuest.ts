// 10,000 IPVS destinations (1,000 services of 10), against `ipvsadm -R`. Runs where the kernel has ip_vs: inside the
// virtual machine, started by ipvs.ts. Prints its figures as one line of JSON.
import { openIpvs } from '../../src/kernel/ipvs/adapter.js';
import type { IpvsRequest } from '../../src/kernel/ipvs/port.js';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { againstTool, using } from './againstTool.js';

const SERVICES = 1000;
const EACH = 10;

const services = Array.from({ length: SERVICES }, (_, i) => ({
  address: `10.96.${i >> 8}.${i & 255}`,
  destinations: Array.from({ length: EACH }, (_, j) => `10.1.${i >> 8}.${i & 255}:${8000 + j}`),
}));

const requests = services.flatMap(({ address }, i): IpvsRequest[] => {
  const service = { protocol: 'tcp', address, port: 80 } as const;
  return [
    { do: 'add', kind: 'service', ...service, scheduler: 'rr' },
    ...Array.from(
      { length: EACH },
      (_, j): IpvsRequest => ({
        do: 'add',
        kind: 'destination',
        service,
        address: `10.1.${i >> 8}.${i & 255}`,
        port: 8000 + j,
        forward: 'masq',
        weight: 1,
      }),
    ),
  ];
});

const lines = services
  .map(({ address, destinations }) =>
    [`-A -t ${address}:80 -s rr`, ...destinations.map((to) => `-a -t ${address}:80 -r ${to} -m -w 1`)].join(
      '\n',
    ),
  )
  .join('\n')
  .concat('\n');

const figure = await againstTool({
  name: `add ${(SERVICES * EACH).toLocaleString('en')} IPVS destinations (in the VM)`,
  runs: 5,
  // IPVS takes no destination in a namespace whose loopback was never up.
  prepare: (netns) =>
    using(openRoute(netns), (route) => route.apply([{ do: 'change', kind: 'link', name: 'lo', up: true }])),
  run: (netns) => using(openIpvs(netns), (port) => port.apply(requests)),
  tool: { name: 'ipvsadm -R', command: ['ipvsadm', '-R'], input: lines },
});

console.log(JSON.stringify([figure]));
process.exit(0);
