// What TreePort promises, as tests that the fake and the native walker both pass.
// Guarantees: the trees are described once; each side makes them in its own way.
import { expect, test } from 'vitest';
import type { TreeOwnership, TreePort } from '../../../src/kernel/tree/port.js';

interface Plant {
  readonly kind: 'file' | 'directory' | 'link';
  readonly mode?: number;
  /** A file of `of`, by another name. */
  readonly of?: string;
  readonly bytes?: number;
}

interface Garden {
  readonly trees: TreePort;
  /** An absolute path below which all of it lies. */
  readonly root: string;
  /** In order, parents first. */
  plant(path: string, what: Plant): void;
  /** Undefined where there is nothing. */
  look(path: string): { readonly gid: number; readonly mode: number } | undefined;
}

const GROUP = 4242;
const wanted = (more: Partial<TreeOwnership> = {}): TreeOwnership => ({
  gid: GROUP,
  writable: true,
  unlessRootMatches: false,
  ...more,
});

export function treeContract(open: () => Garden): void {
  const planted = () => {
    const garden = open();
    const at = (path: string) => `${garden.root}/${path}`;
    garden.plant(at('vol'), { kind: 'directory', mode: 0o755 });
    garden.plant(at('vol/below'), { kind: 'directory', mode: 0o700 });
    garden.plant(at('vol/below/file'), { kind: 'file', mode: 0o600, bytes: 64 * 1024 });
    garden.plant(at('vol/same'), { kind: 'file', of: at('vol/below/file') });
    garden.plant(at('vol/link'), { kind: 'link' });
    garden.plant(at('volume'), { kind: 'file', mode: 0o600, bytes: 1 });
    return { ...garden, at };
  };

  test('what is removed is gone with all below it, and its neighbours stay', async () => {
    const { trees, at, look } = planted();
    await trees.remove(at('vol'));
    await trees.remove(at('vol'));
    await trees.remove(at('none/such'));
    for (const path of ['vol', 'vol/below/file', 'vol/link']) expect(look(at(path))).toBeUndefined();
    expect(look(at('volume'))).toBeDefined();
  });

  test('a file with two names is counted once, and nothing is nothing', async () => {
    const { trees, at } = planted();
    const { usedBytes, inodesUsed, unread } = await trees.measure(at('vol'));
    expect([inodesUsed, unread]).toEqual([4, 0]);
    expect(usedBytes).toBeGreaterThanOrEqual(64 * 1024);
    expect(usedBytes).toBeLessThan(128 * 1024);
    expect(await trees.measure(at('none'))).toEqual({ usedBytes: 0, inodesUsed: 0, unread: 0 });
  });

  test.each([
    ['to read and write', true, 0o660, 0o2770, 0o2775],
    ['to read', false, 0o640, 0o2750, 0o2755],
  ])('a group gets a tree %s, and a second time changes nothing', async (_, writable, file, below, root) => {
    const { trees, at, look } = planted();
    expect(await trees.own(at('vol'), wanted({ writable }))).toEqual({ changed: 4, refused: 0 });
    expect(look(at('vol'))).toEqual({ gid: GROUP, mode: root });
    expect(look(at('vol/below'))).toEqual({ gid: GROUP, mode: below });
    expect(look(at('vol/below/file'))).toEqual({ gid: GROUP, mode: file });
    expect(look(at('vol/link'))?.gid).toBe(GROUP);
    expect(look(at('volume'))?.mode).toBe(0o600);
    expect(await trees.own(at('vol'), wanted({ writable }))).toEqual({ changed: 0, refused: 0 });
  });

  test('with a root that matches nothing below is touched', async () => {
    const { trees, at, look, plant } = planted();
    const once = wanted({ unlessRootMatches: true });
    expect((await trees.own(at('vol'), once)).changed).toBe(4);
    plant(at('vol/new'), { kind: 'file', mode: 0o600 });
    expect((await trees.own(at('vol'), once)).changed).toBe(0);
    expect(look(at('vol/new'))?.mode).toBe(0o600);
    expect((await trees.own(at('vol'), wanted())).changed).toBe(1);
  });

  test('a root that is not there cannot be owned', async () => {
    const { trees, at } = planted();
    await expect(trees.own(at('none'), wanted())).rejects.toMatchObject({ code: 'ENOENT' });
  });
}
