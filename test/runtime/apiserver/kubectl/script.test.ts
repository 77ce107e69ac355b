// More than two hundred kubectl commands and what they print, with the kubectl of this machine and any others given.
// TRELLIS_KUBECTLS names more of them (paths, separated by colons), such as Debian's 1.20 beside a newer one.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Kubectl, kubectlMinor, openKubectl } from '../../../support/kubectl.js';
import { type Script, type Step, wordsOf } from '../../../support/kubectlScript.js';
import { describeWith } from '../../../support/requires.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../../support/securedApiServer.js';
import { applying } from './script/apply.js';
import { objects } from './script/objects.js';
import { workloads } from './script/workloads.js';

const SCRIPTS: readonly Script[] = [...objects, ...applying, ...workloads];
const BINARIES = ['kubectl', ...(process.env['TRELLIS_KUBECTLS'] ?? '').split(':').filter(Boolean)];

test('there are at least two hundred commands', () => {
  expect(SCRIPTS.flatMap(({ steps }) => steps).length).toBeGreaterThanOrEqual(200);
});

describeWith({ tools: ['kubectl'] }, 'kubectl prints', () => {
  describe.each(BINARIES)('as %s', (binary) => {
    const minor = kubectlMinor(binary);
    let api: SecuredApiServer;
    let kubectl: Kubectl;

    beforeAll(async () => {
      api = await startSecuredApiServer();
      kubectl = await openKubectl(
        api.url,
        api.pki.ca,
        await api.pki.client('admin', 'system:masters'),
        binary,
      );
    });
    afterAll(async () => {
      await kubectl?.close();
      await api?.close();
    });

    test.concurrent.each(SCRIPTS)('$name', { timeout: 180_000 }, async ({ name, steps }) => {
      await kubectl('create', 'namespace', name);
      // No controller runs here that would make it, and pods ask for it.
      await kubectl('create', 'serviceaccount', 'default', '-n', name);
      const wrong: string[] = [];
      for (const step of steps) {
        if ((step.since ?? 0) > minor) continue;
        const fault = await faultOf(kubectl, name, step);
        if (fault !== undefined) wrong.push(fault);
      }
      expect(wrong).toEqual([]);
    });
  });
});

async function faultOf(kubectl: Kubectl, namespace: string, step: Step): Promise<string | undefined> {
  const { command, prints, input, fails = false, editor } = step;
  const words = wordsOf(command);
  // Before `--` begins what runs in the container.
  const end = words.includes('--') ? words.indexOf('--') : words.length;
  const args = words.includes('-n') ? words : words.toSpliced(end, 0, '-n', namespace);
  const run = editor === undefined ? kubectl.input : await kubectl.editing(editor);
  const { code, stdout, stderr } = await run(input ?? '', ...args);
  const said = fails ? `${stdout}${stderr}` : stdout === '' ? stderr : stdout;
  const text = said.replace(/\n$/, '');
  const fits = typeof prints === 'string' ? text === prints : prints.test(text);
  if (fits && (code !== 0) === fails) return undefined;
  return `kubectl ${command}\n  expected ${String(prints)}\n  but (code ${code}) ${text}`;
}
