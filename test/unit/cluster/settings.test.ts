import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { layoutOf } from '../../../src/cluster/layout.js';
import {
  defaultSettings,
  rangesOf,
  readSettings,
  saveSettings,
  settle,
} from '../../../src/cluster/settings.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-settings-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const defaults = defaultSettings('node1');

/** As a start does that goes on. */
const keep: typeof settle = async (layout, wanted, others) => {
  const settings = await settle(layout, wanted, others);
  await saveSettings(layout, settings);
  return settings;
};

describe('the settings of a cluster', () => {
  test('are the defaults unless asked otherwise, and are kept', async () => {
    const layout = layoutOf(dir);
    const settled = await keep(layout, { securePort: 7443, nodeName: undefined }, defaults);
    expect(settled).toEqual({ ...defaults, securePort: 7443 });
    expect(await readSettings(layout)).toEqual(settled);
    expect(await settle(layout, {}, defaultSettings('another'))).toEqual(settled);
    expect(statSync(layout.settingsFile).mode & 0o777).toBe(0o600);
  });

  test.each(['(none)', 'My_Host', '-a', ''])('refuse the host name %j, and say what to do', async (name) => {
    const settled = settle(layoutOf(dir), {}, defaultSettings(name));
    await expect(settled).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining('choose one with --node-name'),
    });
  });

  test('take the longest name that a node may have, and refuse a longer one with the reason', async () => {
    const longest = 'n'.repeat(63);
    expect((await settle(layoutOf(dir), {}, defaultSettings(longest))).nodeName).toBe(longest);
    for (const [name, nodes] of [
      [`${longest}n`, 1],
      [longest, 2],
    ] as const)
      await expect(settle(layoutOf(dir), { nodes }, defaultSettings(name))).rejects.toThrow(
        'the label kubernetes.io/hostname',
      );
  });

  test.each([
    ['clusterCidr', '10.1.0.0/16'],
    ['serviceCidr', '10.2.0.0/16'],
    ['nodeName', 'other'],
  ] as const)('do not let %s change later, and say what it was', async (key, value) => {
    const layout = layoutOf(dir);
    await keep(layout, {}, defaults);
    await expect(settle(layout, { [key]: value }, defaults)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(`${key} ${defaults[key]}`),
    });
  });

  test('of both families have a network of each for pods and for services', async () => {
    const layout = layoutOf(dir);
    const settled = await keep(layout, { dualStack: true }, defaults);
    expect(rangesOf(settled.clusterCidr)).toEqual(['10.244.0.0/16', 'fd00:10:244::/56']);
    expect(rangesOf(settled.serviceCidr)).toEqual(['10.96.0.0/12', 'fd00:10:96::/112']);
    expect(await settle(layout, {}, defaults)).toEqual(settled);
    expect(await settle(layout, { dualStack: true }, defaults)).toEqual(settled);
  });

  test.each([
    ['no network', { clusterCidr: '10.244.0.0' }, /clusterCidr "10.244.0.0": expected a network/],
    [
      'a word that says nothing of logs',
      { policyLog: 'all' as 'none' },
      /policyLog: "all" is neither of none, refused/,
    ],
    [
      'a word that says nothing of spoofing',
      { podSpoofing: 'some' as 'deny' },
      /podSpoofing: "some" is neither/,
    ],
    ['no network beyond', { nonMasqueradeCidrs: '10.0.0.0/8,here' }, /nonMasqueradeCidrs: "here" is not/],
    ['two of one family', { serviceCidr: '10.1.0.0/16,10.2.0.0/16' }, /at most one network of each family/],
    ['one family for pods, two for services', { serviceCidr: '10.1.0.0/16,fd00::/112' }, /of each for both/],
    ['one family with --dual-stack', { dualStack: true, clusterCidr: '10.1.0.0/16' }, /asks for both/],
  ])('are refused with %s', async (_, wanted, message) => {
    await expect(settle(layoutOf(dir), wanted, defaults)).rejects.toThrow(message);
  });

  test('are as they were after a start that was refused', async () => {
    const layout = layoutOf(dir);
    await settle(layout, { nodes: 300 }, defaults);
    expect(await readSettings(layout)).toBeUndefined();
    await keep(layout, { nodes: 2 }, defaults);
    await settle(layout, { nodes: 300 }, defaults);
    expect(await readSettings(layout)).toMatchObject({ nodes: 2 });
  });

  test('are absent where there is no cluster', async () => {
    expect(await readSettings(layoutOf(dir))).toBeUndefined();
  });

  test.each([
    ['not JSON', '{'],
    ['of another format', '{"format":99}'],
  ])('are refused when the file is %s', async (_, text) => {
    const layout = layoutOf(dir);
    writeFileSync(layout.settingsFile, text);
    await expect(readSettings(layout)).rejects.toMatchObject({ code: 'NOT_OURS' });
  });
});
