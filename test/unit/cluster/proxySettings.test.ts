// The kernel's settings that a node's proxy is asked to make, on files in place of the kernel's.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { makeProxySettings, restoreProxySettings } from '../../../src/cluster/proxySettings.js';
import { type ConfigOverrides, settle } from '../../../src/proxy/config.js';

const KERNEL = {
  'netfilter/nf_conntrack_tcp_timeout_established': '432000',
  'netfilter/nf_conntrack_tcp_timeout_close_wait': '60',
  'ipv4/conf/all/route_localnet': '0',
};
let dir = '';
const file = (name: string) => path.join(dir, 'net', name);

beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-settings-'));
  for (const [name, value] of Object.entries(KERNEL)) {
    mkdirSync(path.dirname(file(name)), { recursive: true });
    writeFileSync(file(name), `${value}\n`);
  }
});
afterEach(() => rmSync(dir, { recursive: true }));

function cluster(name: string, given: ConfigOverrides = {}, mode = 'nftables') {
  const layout = { runDir: path.join(dir, 'run', name) };
  mkdirSync(layout.runDir, { recursive: true });
  const place = { layout, sysctls: path.join(dir, 'net') };
  const config = settle({ conntrackMaxPerCore: 0 }, given);
  const make = (when: 'before-rules' | 'after-rules') =>
    makeProxySettings(place, { config, mode, when, log: silentLog });
  return {
    before: () => make('before-rules'),
    after: () => make('after-rules'),
    down: async () => {
      await restoreProxySettings(place);
      rmSync(layout.runDir, { recursive: true });
    },
  };
}

const now = () => Object.keys(KERNEL).map((name) => readFileSync(file(name), 'utf8').trim());

describe('the settings of a node’s proxy', () => {
  test('are kube-proxy’s where the configuration says nothing, and are put back by down', async () => {
    const one = cluster('one');
    await one.before();
    await one.after();
    expect(now()).toEqual(['86400', '3600', '0']);
    await one.down();
    expect(now()).toEqual(Object.values(KERNEL));
  });

  test('are those that the configuration names, and zero leaves the kernel’s own', async () => {
    const one = cluster('one', { conntrackTcpEstablishedMs: 0, conntrackTcpCloseWaitMs: 120_000 });
    await one.before();
    expect(now()).toEqual(['432000', '120', '0']);
  });

  test('open loopback only after the rules that guard it', async () => {
    const one = cluster('one', { localhostNodePorts: true }, 'iptables');
    await one.before();
    expect(now()[2]).toBe('0');
    await one.after();
    expect(now()[2]).toBe('1');
    await one.down();
    expect(now()).toEqual(Object.values(KERNEL));
  });

  test('are put back by the last cluster of the network, whoever made them, also after starts in between', async () => {
    const [one, two] = [cluster('one'), cluster('two')];
    await one.before();
    await two.before();
    await one.before();
    await one.down();
    expect(now().slice(0, 2)).toEqual(['86400', '3600']);
    await two.down();
    expect(now()).toEqual(Object.values(KERNEL));
  });

  test('that the kernel does not have are left out, and the others made', async () => {
    rmSync(file('netfilter/nf_conntrack_tcp_timeout_established'));
    await cluster('one').before();
    expect(readFileSync(file('netfilter/nf_conntrack_tcp_timeout_close_wait'), 'utf8')).toBe('3600');
  });
});
