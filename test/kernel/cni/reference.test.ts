// Our CNI plugins and the reference ones side by side: the same configuration on two throw-away hosts.
// Guarantees: results, the kernel's state in host and container, reservations and what is left after DEL are equal.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, type TestContext, test } from 'vitest';
import { CASES, type ReferenceCase } from '../../support/cni/cases.js';
import { ComparedHost, type Seen, sourceSeen } from '../../support/cni/comparedHost.js';
import { withoutIntendedDifferences } from '../../support/cni/intendedDifferences.js';
import { callPlugin, OURS, REFERENCE } from '../../support/cni/plugin.js';
import { makeNetNs } from '../../support/netns.js';
import { describeWith } from '../../support/requires.js';

const SETTLED_MS = 20_000;
type AtEnd = TestContext['onTestFinished'];

describeWith(
  {
    root: true,
    tools: ['ip', 'nft', 'nsenter', 'iptables', 'bash'],
    files: [`${REFERENCE}/bridge`, `${REFERENCE}/host-local`, `${REFERENCE}/loopback`, `${REFERENCE}/static`],
    features: ['veth', 'bridge'],
  },
  'side by side with the reference plugins',
  () => {
    async function side(bin: string, work: ReferenceCase, atEnd: AtEnd) {
      const namespace = async () => {
        const made = await makeNetNs();
        atEnd(() => made.remove());
        return made;
      };
      const root = mkdtempSync(path.join(tmpdir(), 'trellis-reference-'));
      atEnd(() => rmSync(root, { recursive: true }));
      const [host, outside] = [await namespace(), await namespace()];
      const containers = await Promise.all(Array.from({ length: work.containers ?? 1 }, namespace));
      const made = new ComparedHost(bin, work, host, containers, path.join(root, 'host'));
      await made.prepare(outside);
      return { made, outside, container: containers[0] };
    }

    /** Some of the kernel's own work (carrier, link-local addresses) comes a moment later, so a difference gets time. */
    async function expectSame(
      sides: [ComparedHost, ComparedHost],
      run: (of: ComparedHost) => Promise<unknown[]>,
    ): Promise<Seen> {
      const answers = await Promise.all(sides.map(run));
      const deadline = Date.now() + SETTLED_MS;
      for (;;) {
        const seen = await Promise.all(sides.map((of, i) => of.seen(answers[i] ?? [])));
        const [ours, reference] = seen.map(withoutIntendedDifferences);
        if (ours !== undefined && JSON.stringify(ours) === JSON.stringify(reference)) return ours;
        if (Date.now() > deadline) expect(ours).toEqual(reference);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }

    test('at least forty configurations are compared, each with a name of its own', () => {
      expect(new Set(CASES.map(({ name }) => name)).size).toBe(CASES.length);
      expect(CASES.length).toBeGreaterThanOrEqual(40);
    });

    // Most of the time both sides wait, for addresses to be checked and links to go: several cases at once.
    test.concurrent.for(CASES)('$name', async (work, { onTestFinished }) => {
      const [ours, reference] = await Promise.all([
        side(OURS, work, onTestFinished),
        side(REFERENCE, work, onTestFinished),
      ]);
      const sides: [ComparedHost, ComparedHost] = [ours.made, reference.made];
      const added = await expectSame(sides, (of) => of.add());
      expect(JSON.stringify(added.answers)).not.toContain('failed');
      for (const { container, outside } of work.sends === undefined ? [] : [ours, reference])
        expect(container && (await sourceSeen(container, outside, work.sends?.to ?? ''))).toBe(
          work.sends?.from,
        );
      if (work.referenceCheckFails === undefined) await expectSame(sides, (of) => of.each('CHECK'));
      else
        expect(await Promise.all(sides.map((of) => of.each('CHECK')))).toEqual([[null], [{ failed: 999 }]]);
      const deleted = await expectSame(sides, (of) => of.each('DEL'));
      expect(await Promise.all(sides.map((of) => of.rules()))).toEqual([[], []]);
      expect(Object.keys(deleted.files).filter((name) => /^(10\.|fd00)/.test(name))).toEqual([]);
      expect(JSON.stringify(deleted.containers)).not.toContain('eth0');
      await expectSame(sides, (of) => of.each('DEL'));
    });

    test.each(['bridge', 'host-local', 'loopback'])('VERSION of %s', async (plugin) => {
      const versions = async (bin: string) => {
        const { out } = await callPlugin({
          bin,
          plugin,
          command: 'VERSION',
          config: { cniVersion: '0.4.0' },
        });
        return JSON.parse(out) as { cniVersion: string; supportedVersions: string[] };
      };
      const [ours, reference] = [await versions(OURS), await versions(REFERENCE)];
      expect(ours.supportedVersions).toEqual([...reference.supportedVersions, '1.1.0']);
      expect(ours.cniVersion).toBe('0.4.0');
    });
  },
);
