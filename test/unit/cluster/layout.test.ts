import { expect, test } from 'vitest';
import { layoutOf } from '../../../src/cluster/layout.js';

test('names of two directories never meet', () => {
  const [a, b] = [layoutOf('/var/lib/trellis'), layoutOf('/srv/two')];
  for (const key of ['id', 'runDir', 'cgroup', 'network', 'bridge', 'networkTable', 'proxyTable'] as const)
    expect(a[key]).not.toBe(b[key]);
});

test('the same directory always gives the same names', () => {
  expect(layoutOf('/srv/two')).toEqual(layoutOf('/srv/two'));
});

test('names fit where the kernel bounds them, however long the directory', () => {
  const layout = layoutOf(`/srv/${'long/'.repeat(80)}`);
  expect(layout.bridge.length).toBeLessThan(16);
  expect(layout.containerdSocket.length).toBeLessThan(108);
});
