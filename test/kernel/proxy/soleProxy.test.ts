// Proxies that would share chains: a cluster's agent and one that runs alone, in whatever order they come.
import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { NODES } from '../../../src/api/resources.js';
import { layoutOf } from '../../../src/cluster/layout.js';
import { openProxyMode } from '../../../src/cluster/proxyMode.js';
import { settle } from '../../../src/proxy/config.js';
import { claimChains } from '../../../src/proxy/soleProxy.js';
import { startProxy } from '../../../src/proxy/standalone.js';
import { meta } from '../../support/proxy/objects.js';
import { describeWith } from '../../support/requires.js';
import { StaticInformers } from '../../support/staticInformers.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-sole-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

describeWith({ root: true, tools: ['iptables-nft-restore'] }, 'a proxy in the iptables mode', () => {
  test('gives up beside another that has the chains, before it has written anything', async () => {
    const other = await claimChains('iptables', { dir, log: silentLog });
    const layout = { ...layoutOf(path.join(dir, 'data')), runDir: path.join(dir, 'run') };
    const cluster = { layout, settings: { proxyMode: 'iptables' }, log: silentLog, lockDir: dir } as const;
    const options = { table: 't', families: ['ip'], traffic: {} } as const;
    await expect(openProxyMode(cluster, async () => options)).rejects.toMatchObject({
      code: 'ALREADY_RUNNING',
    });
    expect(existsSync(layout.runDir)).toBe(false);
    const informers = new StaticInformers();
    informers.of(NODES).set({ metadata: { ...meta('n1'), namespace: undefined }, spec: {}, status: {} });
    const alone = { config: settle({ mode: 'iptables' }), nodeName: 'n1', informers, table: 't' };
    await expect(startProxy({ ...alone, lockDir: dir, log: silentLog })).rejects.toMatchObject({
      code: 'ALREADY_RUNNING',
    });
    other?.release();
    expect(readdirSync(dir)).toEqual([]);
  });
});
