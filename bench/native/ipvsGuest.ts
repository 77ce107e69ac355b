// 10,000 IPVS destinations (1,000 services of 10), against `ipvsadm -R`. Runs where the kernel has ip_vs: inside the
// virtual machine, started by ipvs.ts. Prints its figures as one line of JSON.
import { openIpvs } from '../../src/kernel/ipvs/adapter.js';
import type { IpvsRequest } from '../../src/kernel/ipvs/port.js';
import { openRoute } from '../../src/kernel/route/adapter.js';
import { compare } from '../lib/compare.js';
import { benchNetNs, removeNetNs, runTool } from '../lib/tool.js';

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

/** IPVS takes no destination in a namespace whose loopback was never up. */
async function prepare(): Promise<string> {
  const netns = await benchNetNs();
  const route = await openRoute(netns);
  await route.apply([{ do: 'change', kind: 'link', name: 'lo', up: true }]);
  route.close();
  return netns;
}

const figure = await compare({
  name: `add ${(SERVICES * EACH).toLocaleString('en')} IPVS destinations (in the VM)`,
  runs: 5,
  atMost: 1,
  ours: {
    name: 'ours',
    prepare,
    async run(netns) {
      const port = await openIpvs(netns);
      await port.apply(requests);
      port.close();
    },
    clean: removeNetNs,
  },
  peer: {
    name: 'ipvsadm -R',
    prepare,
    async run(netns) {
      await runTool(['ipvsadm', '-R'], { netns, input: lines });
    },
    clean: removeNetNs,
  },
});

console.log(JSON.stringify([figure]));
process.exit(0);
