import { describe, expect, test } from 'vitest';
import { mountsBelow } from '../../../src/cluster/mounts.js';

describe('mounts below a directory', () => {
  test('mounts come deepest first, with blanks, and only those below', () => {
    const mountinfo = [
      '20 1 0:1 / / rw - ext4 /dev/sda rw',
      '21 20 0:2 / /run/trellis/state rw - tmpfs t rw',
      '22 21 0:3 / /run/trellis/state/a\\040b rw shared:1 - overlay o rw',
      '23 21 0:3 / /run/trellis/state/a\\040b rw shared:1 - overlay o rw',
      '24 20 0:3 / /run/trellis/state2 rw - overlay o rw',
      '',
    ].join('\n');
    expect(mountsBelow(mountinfo, '/run/trellis/state')).toEqual([
      '/run/trellis/state/a b',
      '/run/trellis/state/a b',
      '/run/trellis/state',
    ]);
  });
});
