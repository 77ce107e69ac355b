import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { forwardPackets, restoreForwarding } from '../../../src/cluster/forwarding.js';
import type { Link } from '../../../src/kernel/route/objects.js';

let dir = '';
const sysctls = () => path.join(dir, 'net');
const SETTINGS = {
  'ipv4/ip_forward': '0',
  'ipv6/conf/all/forwarding': '0',
  'ipv6/conf/eth0/accept_ra': '1',
  'ipv6/conf/eth1/accept_ra': '0',
};
const [V4, BOTH] = [['10.244.0.0/16'], ['10.244.0.0/16', 'fd00::/56']];

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-forwarding-'));
  for (const [name, value] of Object.entries(SETTINGS)) {
    mkdirSync(path.dirname(path.join(sysctls(), name)), { recursive: true });
    writeFileSync(path.join(sysctls(), name), `${value}\n`);
  }
});
afterEach(() => rmSync(dir, { recursive: true }));

function cluster(name: string) {
  const layout = { runDir: path.join(dir, 'run', name) };
  mkdirSync(layout.runDir, { recursive: true });
  const place = { layout, sysctls: sysctls() };
  const links = (types: string[]) => ({ links: async () => types.map((type) => ({ type }) as Link) });
  return {
    start: (cidrs: string[]) => forwardPackets(place, cidrs),
    end: async (...types: string[]) => {
      await restoreForwarding(place, links(types));
      rmSync(layout.runDir, { recursive: true });
    },
  };
}

const now = () =>
  Object.keys(SETTINGS).map((name) => readFileSync(path.join(sysctls(), name), 'utf8').trim());

describe('forwarding', () => {
  test('is switched on for the families of the cluster, and put back at the end', async () => {
    const one = cluster('one');
    await one.start(V4);
    expect(now()).toEqual(['1', '0', '1', '0']);
    await one.end();
    expect(now()).toEqual(Object.values(SETTINGS));
    const two = cluster('two');
    await two.start(BOTH);
    expect(now()).toEqual(['1', '1', '2', '0']);
    await two.end('veth');
    expect(now()).toEqual(Object.values(SETTINGS));
  });

  test('is put back also when the agent was started again meanwhile', async () => {
    const one = cluster('one');
    for (let start = 0; start < 3; start++) await one.start(BOTH);
    await one.end();
    expect(now()).toEqual(Object.values(SETTINGS));
  });

  test('stays where it was on before', async () => {
    writeFileSync(path.join(sysctls(), 'ipv4/ip_forward'), '1\n');
    const one = cluster('one');
    await one.start(V4);
    await one.end();
    expect(now()[0]).toBe('1');
  });

  test('goes with the last cluster that needs it, whoever switched it on', async () => {
    const [one, two] = [cluster('one'), cluster('two')];
    await one.start(V4);
    await two.start(V4);
    await one.end();
    expect(now()[0]).toBe('1');
    await two.end();
    expect(now()[0]).toBe('0');
  });

  test('stays while somebody else has a bridge', async () => {
    const one = cluster('one');
    await one.start(V4);
    await one.end('bridge');
    expect(now()[0]).toBe('1');
  });
});
