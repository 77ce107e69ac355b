import { expect, test } from 'vitest';
import type { Image } from '../../../src/cri/runtime.js';
import { bytesToFree, recordImages, removable } from '../../../src/kubelet/imageGC.js';

const image = (id: string, more: Partial<Image> = {}): Image => ({
  id,
  repoTags: [`${id}:1`],
  repoDigests: [],
  size: 10,
  username: '',
  pinned: false,
  ...more,
});
const MINUTE = 60_000;

test('images in use, pinned, too young and of sandboxes stay; the rest goes by last use', () => {
  const images = [
    image('used'),
    image('pinned', { pinned: true }),
    image('young'),
    image('long-unused'),
    image('just-unused'),
    image('pause', { repoTags: ['registry.k8s.io/pause:3.9'] }),
  ];
  const old = images.filter(({ id }) => id !== 'young');
  const begun = recordImages(new Map(), old, new Set(['used', 'just-unused']), 0);
  const later = recordImages(begun, images, new Set(['used', 'just-unused']), 5 * MINUTE);
  const left = removable({
    images,
    records: later,
    inUse: new Set(['used']),
    nowMs: 5 * MINUTE,
    minimumAgeMs: 2 * MINUTE,
  });
  expect(left.map(({ id }) => id)).toEqual(['long-unused', 'just-unused']);
});

test('what is gone is forgotten', () => {
  const begun = recordImages(new Map(), [image('a')], new Set(), 0);
  expect(recordImages(begun, [], new Set(), 1).size).toBe(0);
});

test.each([
  [84, 0],
  [85, 5],
  [95, 15],
])('a disk that is full by %d percent', (used, free) => {
  const fs = { capacityBytes: 100, availableBytes: 100 - used, usedBytes: used, inodes: 0, inodesFree: 0 };
  expect(bytesToFree(fs, { imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 80 })).toBe(free);
});
