import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { layoutOf } from '../../../src/cluster/layout.js';
import { defaultSettings, readSettings, settle } from '../../../src/cluster/settings.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-settings-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const defaults = defaultSettings('node1');

describe('the settings of a cluster', () => {
  it('are the defaults unless asked otherwise, and are kept', async () => {
    const layout = layoutOf(dir);
    const settled = await settle(layout, { securePort: 7443, nodeName: undefined }, defaults);
    expect(settled).toEqual({ ...defaults, securePort: 7443 });
    expect(await readSettings(layout)).toEqual(settled);
    expect(await settle(layout, {}, defaultSettings('another'))).toEqual(settled);
    expect(statSync(layout.settingsFile).mode & 0o777).toBe(0o600);
  });

  it.each([
    ['clusterCidr', '10.1.0.0/16'],
    ['serviceCidr', '10.2.0.0/16'],
    ['nodeName', 'other'],
  ] as const)('do not let %s change later, and say what it was', async (key, value) => {
    const layout = layoutOf(dir);
    await settle(layout, {}, defaults);
    await expect(settle(layout, { [key]: value }, defaults)).rejects.toMatchObject({
      code: 'BAD_OPTION',
      message: expect.stringContaining(`${key} ${defaults[key]}`),
    });
  });

  it('are absent where there is no cluster', async () => {
    expect(await readSettings(layoutOf(dir))).toBeUndefined();
  });

  it.each([
    ['not JSON', '{'],
    ['of another format', '{"format":99}'],
  ])('are refused when the file is %s', async (_, text) => {
    const layout = layoutOf(dir);
    writeFileSync(layout.settingsFile, text);
    await expect(readSettings(layout)).rejects.toMatchObject({ code: 'NOT_OURS' });
  });
});
