import { describe } from 'vitest';
import { FakeTrees } from '../../../../src/kernel/tree/fake.js';
import { treeContract } from '../../../support/contracts/tree.js';

describe('trees in memory', () =>
  treeContract(() => {
    const trees = new FakeTrees();
    return {
      trees,
      root: '/root',
      plant: (path, { kind, mode = 0o777, of, bytes = 0 }) => {
        const same = of === undefined ? undefined : trees.entries.get(of);
        if (same === undefined) trees.put(path, { kind, mode, usedBytes: kind === 'file' ? bytes : 4096 });
        else trees.entries.set(path, same);
      },
      look: (path) => {
        const found = trees.entries.get(path);
        return found === undefined ? undefined : { gid: found.gid, mode: found.mode };
      },
    };
  }));
