// The configurations on which our plugins must do as the reference plugins do.
// Guarantees: data only; every option of bridge, host-local and loopback that the reference knows is in some case.

export interface ReferenceCase {
  readonly name: string;
  /** The plugins of the chain, the first one ours or the reference's, those behind it always the reference's. */
  readonly plugins: readonly Record<string, unknown>[];
  readonly version?: string;
  readonly network?: string;
  readonly ifName?: string;
  /** CNI_ARGS. */
  readonly args?: string;
  /** Containers that come one after the other. Bridges need a gateway then: else the reference's change their hardware address. */
  readonly containers?: number;
  /** Where a packet from the container goes, and the address it must have there. */
  readonly sends?: { readonly to: string; readonly from: string };
  /** Commands of the host before the first ADD. */
  readonly prepare?: readonly string[];
  /** The reference's CHECK refuses what its ADD made; why. */
  readonly referenceCheckFails?: string;
  /** What the first plugin finds as prevResult. */
  readonly previous?: object;
}

const DEFAULT_V4 = [{ dst: '0.0.0.0/0' }];
const DEFAULT_V6 = [{ dst: '::/0' }];
const V4 = [[{ subnet: '10.9.0.0/24' }]];
const V6 = [[{ subnet: 'fd00:9::/64' }]];
const DUAL = [...V4, ...V6];
export const OUTSIDE = { v4: '192.0.2.2', v6: '2001:db8::2' };
export const UPLINK = { v4: '192.0.2.1', v6: '2001:db8::1' };

const ipam = (ranges: object[][], more: object = {}) => ({ type: 'host-local', ranges, ...more });
const bridge = (more: object, ranges: object[][] = V4, ipamMore: object = {}) => ({
  type: 'bridge',
  bridge: 'br0',
  ipam: ipam(ranges, ipamMore),
  ...more,
});
const routed = {
  routes: [
    { dst: '0.0.0.0/0', gw: '10.9.0.1' },
    { dst: '::/0', gw: 'fd00:9::1' },
  ],
};

const VERSIONS = ['0.1.0', '0.2.0', '0.3.0', '0.3.1', '0.4.0', '1.0.0'];

const seed: ReferenceCase = {
  name: 'the sample of a node set up by hand',
  version: '0.3.1',
  network: 'bridge',
  sends: { to: OUTSIDE.v4, from: UPLINK.v4 },
  plugins: [
    {
      type: 'bridge',
      bridge: 'cnio0',
      isGateway: true,
      ipMasq: true,
      ipam: { type: 'host-local', ranges: [[{ subnet: '10.22.0.0/16' }]], routes: DEFAULT_V4 },
    },
  ],
};

const versions: ReferenceCase[] = VERSIONS.flatMap((version) => [
  {
    name: `bridge of ${version}, v4`,
    version,
    plugins: [bridge({ isGateway: true }, V4, { routes: DEFAULT_V4 })],
  },
  { name: `bridge of ${version}, dual`, version, plugins: [bridge({ isDefaultGateway: true }, DUAL)] },
  { name: `loopback of ${version}`, version, ifName: 'lo', plugins: [{ type: 'loopback' }] },
]);

const bridgeOptions: ReferenceCase[] = [
  { name: 'no gateway', plugins: [bridge({})] },
  { name: 'no gateway, v6', plugins: [bridge({}, V6)] },
  { name: 'the default bridge name', plugins: [{ type: 'bridge', ipam: ipam(V4) }] },
  { name: 'isGateway without routes', plugins: [bridge({ isGateway: true })] },
  { name: 'isGateway, v6', plugins: [bridge({ isGateway: true }, V6, { routes: DEFAULT_V6 })] },
  { name: 'isDefaultGateway', plugins: [bridge({ isDefaultGateway: true })] },
  { name: 'isDefaultGateway, v6', plugins: [bridge({ isDefaultGateway: true }, V6)] },
  {
    name: 'isDefaultGateway beside a default route',
    plugins: [bridge({ isDefaultGateway: true }, DUAL, routed)],
  },
  {
    name: 'isGateway on a bridge that has the address',
    prepare: ['ip link add br0 type bridge', 'ip addr add 10.9.0.1/24 dev br0'],
    plugins: [bridge({ isGateway: true })],
  },
  {
    name: 'a bridge that is there, down, with an MTU of its own',
    prepare: ['ip link add br0 mtu 1420 type bridge'],
    plugins: [bridge({ isGateway: true })],
  },
  {
    name: 'forceAddress',
    prepare: ['ip link add br0 type bridge', 'ip addr add 10.8.0.1/24 dev br0'],
    plugins: [bridge({ isGateway: true, forceAddress: true })],
  },
  {
    name: 'forceAddress, v6',
    prepare: ['ip link add br0 type bridge', 'ip addr add fd00:9::77/64 dev br0'],
    plugins: [bridge({ isGateway: true, forceAddress: true }, V6)],
  },
  {
    name: 'two v6 networks on one bridge',
    prepare: ['ip link add br0 type bridge', 'ip addr add fd00:8::1/64 dev br0'],
    plugins: [bridge({ isGateway: true }, V6)],
  },
  { name: 'mtu', plugins: [bridge({ mtu: 1400, isGateway: true })] },
  {
    name: 'mtu, second layer only',
    referenceCheckFails: 'it asks an IPAM plugin also where there is none',
    plugins: [{ type: 'bridge', bridge: 'br0', mtu: 9000 }],
  },
  { name: 'hairpinMode', plugins: [bridge({ hairpinMode: true, isGateway: true })] },
  { name: 'promiscMode', plugins: [bridge({ promiscMode: true, isGateway: true })] },
  {
    name: 'dns of the configuration',
    plugins: [
      bridge({
        dns: {
          nameservers: ['10.1.1.1', 'fd00::1'],
          domain: 'a.test',
          search: ['b.test'],
          options: ['ndots:5'],
        },
      }),
    ],
  },
  {
    name: 'no IPAM',
    referenceCheckFails: 'it asks an IPAM plugin also where there is none',
    plugins: [{ type: 'bridge', bridge: 'br0' }],
  },
  {
    name: 'an empty IPAM',
    referenceCheckFails: 'it asks an IPAM plugin also where there is none',
    version: '0.4.0',
    plugins: [{ type: 'bridge', bridge: 'br0', ipam: {} }],
  },
  { name: 'a MAC address by CNI_ARGS', args: 'IgnoreUnknown=1;MAC=02:aa:bb:00:00:01', plugins: [bridge({})] },
  {
    name: 'a MAC address by runtimeConfig',
    plugins: [bridge({ runtimeConfig: { mac: '02:aa:bb:00:00:02' } })],
  },
  { name: 'a MAC address by args.cni', plugins: [bridge({ args: { cni: { mac: '02:aa:bb:00:00:03' } } })] },
  {
    name: 'a MAC address in two places',
    args: 'IgnoreUnknown=1;MAC=02:aa:bb:00:00:01',
    plugins: [bridge({ runtimeConfig: { mac: '02:aa:bb:00:00:02' } })],
  },
  {
    name: 'three containers',
    containers: 3,
    plugins: [bridge({ isDefaultGateway: true, ipMasq: true }, DUAL)],
  },
  {
    name: 'another IPAM plugin',
    plugins: [
      {
        type: 'bridge',
        bridge: 'br0',
        isGateway: true,
        ipam: {
          type: 'static',
          addresses: [{ address: '10.7.0.5/24', gateway: '10.7.0.1' }],
          routes: DEFAULT_V4,
        },
      },
    ],
  },
  {
    name: 'an IPAM plugin that knows no gateway',
    plugins: [
      {
        type: 'bridge',
        bridge: 'br0',
        isGateway: true,
        ipam: { type: 'static', addresses: [{ address: '10.7.0.5/24' }] },
      },
    ],
  },
];

const masquerade: ReferenceCase[] = [
  {
    name: 'ipMasq, v4',
    sends: { to: OUTSIDE.v4, from: UPLINK.v4 },
    plugins: [bridge({ isDefaultGateway: true, ipMasq: true })],
  },
  {
    name: 'ipMasq, v6',
    sends: { to: OUTSIDE.v6, from: UPLINK.v6 },
    plugins: [bridge({ isDefaultGateway: true, ipMasq: true }, V6)],
  },
  {
    name: 'ipMasq, dual',
    sends: { to: OUTSIDE.v6, from: UPLINK.v6 },
    plugins: [bridge({ isDefaultGateway: true, ipMasq: true }, DUAL)],
  },
  {
    name: 'no ipMasq: the container shows its own address',
    sends: { to: OUTSIDE.v4, from: '10.9.0.2' },
    plugins: [bridge({ isDefaultGateway: true })],
  },
];

const hostLocal: ReferenceCase[] = [
  {
    name: 'the old form with one subnet',
    plugins: [{ type: 'bridge', bridge: 'br0', ipam: { type: 'host-local', subnet: '10.9.0.0/24' } }],
  },
  {
    name: 'the old form with range and gateway',
    plugins: [
      {
        type: 'bridge',
        bridge: 'br0',
        isGateway: true,
        ipam: {
          type: 'host-local',
          subnet: '10.9.0.0/24',
          rangeStart: '10.9.0.100',
          rangeEnd: '10.9.0.110',
          gateway: '10.9.0.254',
        },
      },
    ],
  },
  {
    name: 'two range sets of one family',
    plugins: [bridge({}, [...V4, [{ subnet: '10.10.0.0/24' }]])],
  },
  {
    name: 'a set of two ranges, the first one full',
    containers: 3,
    plugins: [
      {
        type: 'host-local',
        ipam: ipam([
          [
            { subnet: '10.9.0.0/24', rangeStart: '10.9.0.10', rangeEnd: '10.9.0.11' },
            { subnet: '10.10.0.0/24' },
          ],
        ]),
      },
    ],
  },
  {
    name: 'rangeStart on the gateway',
    containers: 2,
    plugins: [
      bridge({ isGateway: true }, [
        [{ subnet: '10.9.0.0/24', rangeStart: '10.9.0.1', rangeEnd: '10.9.0.3' }],
      ]),
    ],
  },
  {
    name: 'v6 range',
    plugins: [bridge({}, [[{ subnet: 'fd00:9::/64', rangeStart: 'fd00:9::a0', rangeEnd: 'fd00:9::af' }]])],
  },
  {
    name: 'routes with and without gateway',
    referenceCheckFails: 'it looks for a route without gateway, where its ADD put in that of the network',
    plugins: [
      bridge({ isGateway: true }, V4, {
        routes: [{ dst: '0.0.0.0/0' }, { dst: '10.50.0.0/16', gw: '10.9.0.77' }, { dst: '10.60.0.0/16' }],
      }),
    ],
  },
  {
    name: 'a v6 route with gateway',
    plugins: [bridge({}, V6, { routes: [{ dst: '2001:db8:5::/48', gw: 'fd00:9::77' }] })],
  },
  { name: 'resolvConf', plugins: [{ type: 'host-local', ipam: ipam(V4, { resolvConf: '@resolvConf' }) }] },
  {
    name: 'resolvConf and dns: the configuration wins',
    plugins: [bridge({ dns: { nameservers: ['10.1.1.1'] } }, V4, { resolvConf: '@resolvConf' })],
  },
  { name: 'an address by CNI_ARGS', args: 'IgnoreUnknown=1;IP=10.9.0.40', plugins: [bridge({})] },
  { name: 'an address by args.cni', plugins: [bridge({ args: { cni: { ips: ['10.9.0.41'] } } })] },
  {
    name: 'addresses by runtimeConfig',
    plugins: [bridge({ runtimeConfig: { ips: ['10.9.0.42/24', 'fd00:9::42'] } }, DUAL)],
  },
  {
    name: 'ranges by runtimeConfig',
    plugins: [bridge({ runtimeConfig: { ipRanges: [[{ subnet: '10.20.0.0/24' }]] } }, V6)],
  },
  {
    name: 'a Kubernetes pod by CNI_ARGS',
    args: 'IgnoreUnknown=true;K8S_POD_NAMESPACE=a;K8S_POD_NAME=b',
    plugins: [bridge({})],
  },
  { name: 'host-local alone', plugins: [{ type: 'host-local', ipam: ipam(DUAL, routed) }] },
];

const chains: ReferenceCase[] = [
  {
    name: 'tuning behind bridge',
    plugins: [
      bridge({ isGateway: true }),
      { type: 'tuning', sysctl: { 'net.ipv4.conf.eth0.arp_filter': '1' }, mtu: 1380 },
    ],
  },
  {
    name: 'portmap behind bridge',
    version: '0.4.0',
    plugins: [
      bridge({ isDefaultGateway: true }),
      {
        type: 'portmap',
        snat: true,
        runtimeConfig: { portMappings: [{ hostPort: 8080, containerPort: 80, protocol: 'tcp' }] },
      },
    ],
  },
  {
    name: 'loopback passes on what came before',
    ifName: 'lo',
    previous: { cniVersion: '1.0.0', ips: [{ address: '10.4.0.2/24' }], dns: {} },
    plugins: [{ type: 'loopback' }],
  },
  {
    name: 'bridge behind another plugin begins anew',
    previous: { cniVersion: '1.0.0', ips: [{ address: '10.4.0.2/24' }], dns: { nameservers: ['10.3.3.3'] } },
    plugins: [bridge({ isGateway: true })],
  },
];

export const CASES: readonly ReferenceCase[] = [
  seed,
  ...versions,
  ...bridgeOptions,
  ...masquerade,
  ...hostLocal,
  ...chains,
];
