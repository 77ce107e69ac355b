// A configuration of the bridge plugin with addresses of host-local, as tests of plugins vary it.

export const bridgeConfig = (
  ipam: { readonly dataDir: string; readonly ranges: object },
  more: object = {},
) => ({
  cniVersion: '1.1.0',
  name: 'net',
  type: 'bridge',
  bridge: 'br0',
  isDefaultGateway: true,
  ipam: { type: 'host-local', ...ipam },
  ...more,
});

export const DUAL_STACK = [[{ subnet: '10.88.0.0/24' }], [{ subnet: 'fd88::/64' }]];
