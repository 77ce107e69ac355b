import { expect, test } from 'vitest';
import { PodConfig, type PodUpdate } from '../../../../src/kubelet/sources/podConfig.js';
import { container, podOf } from '../support.js';

const follow = () => {
  const said: string[] = [];
  const tell = ({ op, source, pods }: PodUpdate) =>
    said.push(`${op} ${source} ${pods.map(({ metadata }) => metadata.uid)}`);
  return { said, config: new PodConfig(['api', 'file'], tell) };
};
const pod = (uid: string, image = 'a') => podOf({ containers: [container('web', { image })] }, { uid });

test('a changed set is told as what changed, removals first', () => {
  const { said, config } = follow();
  config.set('file', [pod('u1'), pod('u2')]);
  config.set('file', [pod('u2', 'b'), pod('u3')]);
  config.set('file', [pod('u2', 'b'), pod('u3')]);
  expect(said).toEqual(['ADD file u1,u2', 'REMOVE file u1', 'ADD file u3', 'UPDATE file u2']);
});

test('a change of status alone asks for reconciliation', () => {
  const { said, config } = follow();
  config.put('api', pod('u1'));
  config.put('api', { ...pod('u1'), status: { phase: 'Running' } });
  config.put('api', {
    ...pod('u1'),
    metadata: { ...pod('u1').metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
  });
  config.remove('api', 'u1');
  config.remove('api', 'u1');
  expect(said).toEqual(['ADD api u1', 'RECONCILE api u1', 'UPDATE api u1', 'REMOVE api u1']);
});

test('all sources are ready once each has spoken', () => {
  const { config } = follow();
  config.set('file', []);
  expect(config.allReady()).toBe(false);
  config.markReady('api');
  expect(config.allReady()).toBe(true);
});
