// Periods of the configuration that are longer than timers can be: 24.8 days.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { LogRotator } from '../../../src/kubelet/logs/logRotator.js';
import { ManifestDirectory } from '../../../src/kubelet/sources/manifestDirectory.js';
import { ManifestUrl } from '../../../src/kubelet/sources/manifestUrl.js';

const LONG_MS = 2 ** 40;
const usual = {
  nodeName: 'n',
  checkFrequencyMs: LONG_MS,
  now: () => 0,
  log: silentLog,
  changed: () => {},
};

beforeEach(() =>
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval', 'clearTimeout', 'clearInterval'] }),
);
afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

test('the logs are not looked at all the time', async () => {
  const rotator = new LogRotator({
    config: {
      podLogsDir: '/x',
      containerLogMaxBytes: 1,
      containerLogMaxFiles: 2,
      containerLogMonitorIntervalMs: LONG_MS,
    },
    runtime: { reopenContainerLog: async () => {} },
    running: () => [],
    log: silentLog,
    now: () => 0,
  });
  const round = vi.spyOn(rotator, 'round');
  rotator.start();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(round).not.toHaveBeenCalled();
  rotator.stop();
});

test('a directory of manifests is not looked through all the time', async () => {
  const source = new ManifestDirectory({ ...usual, directory: '/nowhere' });
  const scan = vi.spyOn(source, 'scan').mockResolvedValue();
  await source.start();
  const atFirst = scan.mock.calls.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(scan).toHaveBeenCalledTimes(atFirst);
  source.stop();
});

test('a URL of manifests is not asked all the time', async () => {
  const source = new ManifestUrl({ ...usual, url: 'http://127.0.0.1:1/' });
  await source.start();
  const start = vi.spyOn(source, 'start').mockResolvedValue();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(start).not.toHaveBeenCalled();
  source.stop();
});
