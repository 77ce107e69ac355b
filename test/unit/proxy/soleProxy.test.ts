import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { settle } from '../../../src/proxy/config.js';
import { claimChains, claimTable, forgetClaims } from '../../../src/proxy/soleProxy.js';
import { startProxy } from '../../../src/proxy/standalone.js';
import { StaticInformers } from '../../support/staticInformers.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-sole-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const claim = (table = 'one') => claimTable({ table, dir, log: silentLog });

test('lets one proxy have a table, and tells the second who has it', async () => {
  const first = await claim();
  await expect(claim()).rejects.toMatchObject({
    code: 'ALREADY_RUNNING',
    message: expect.stringContaining(`process ${process.pid}`),
  });
  (await claim('other')).release();
  first.release();
  (await claim()).release();
  expect(readdirSync(dir)).toEqual([]);
});

test('lets one proxy have the chains that all modes but nftables share', async () => {
  const at = { dir, log: silentLog };
  expect(claimChains('nftables', at)).toBeUndefined();
  const first = await claimChains('iptables', at);
  for (const mode of ['iptables', 'ipvs', 'userspace'] as const)
    await expect(claimChains(mode, at)).rejects.toMatchObject({ code: 'ALREADY_RUNNING' });
  first?.release();
  (await claimChains('ipvs', at))?.release();
});

test('removes with a clean-up what a killed proxy left, but not the claim of one that runs', async () => {
  const running = await claim('running');
  const killed = await claim('killed');
  const [left = ''] = readdirSync(dir).filter((name) => name.startsWith('killed'));
  killed.release();
  writeFileSync(path.join(dir, left), '');
  await forgetClaims(['running', 'killed'], dir);
  expect(readdirSync(dir)).toEqual([expect.stringMatching(/^running/)]);
  running.release();
});

test('keeps a second proxy from starting before it asks for anything', async () => {
  const first = await claim();
  const informers = new StaticInformers();
  const config = settle({}, {});
  const options = { config, nodeName: 'n1', informers, table: 'one', lockDir: dir, log: silentLog };
  await expect(startProxy(options)).rejects.toMatchObject({ code: 'ALREADY_RUNNING' });
  first.release();
});

test('runs all the same where no file can be locked, and says so', async () => {
  const said: string[] = [];
  const log = { ...silentLog, warn: (text: string) => void said.push(text) };
  (await claimTable({ table: 'one', dir: path.join(dir, 'missing'), log })).release();
  expect(said).toEqual([expect.stringContaining('would not be noticed')]);
});
