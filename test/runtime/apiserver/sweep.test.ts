// The sweep: every command of kubectl/sweep.txt run against one server, and all that is printed compared with that file.
// Its lines are what a stock Kubernetes 1.36 server shows; `vitest -u` writes what was seen, for a person to read the diff.
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { silentLog } from '../../../src/api/log.js';
import { FLOW_SCHEMAS } from '../../../src/api/resources.js';
import { keepFlowControl } from '../../../src/apiserver/flowControl/keeper.js';
import { type Kubectl, kubectlMinor, openKubectl } from '../../support/kubectl.js';
import { wordsOf } from '../../support/kubectlScript.js';
import { describeWith } from '../../support/requires.js';
import { type SecuredApiServer, startSecuredApiServer } from '../../support/securedApiServer.js';
import { until } from '../../support/until.js';

const GOLDEN = path.join(import.meta.dirname, 'kubectl/sweep.txt');
const MINOR = kubectlMinor();
const AT_ONCE = 4;
const READS = new Set(['get', 'explain', 'api-resources', 'api-versions']);

interface Step {
  /** The line of the file: `$ kubectl get pods`, or `$27 kubectl ...` for what only kubectl 1.27 and newer can do. */
  readonly line: string;
  readonly words: readonly string[];
  readonly input: string;
  readonly since: number;
  /** What the file says is printed. */
  readonly printed: string;
}

/** Blocks: a line with a command, perhaps its input up to EOF, and what is printed. Other lines are comments. */
function stepsOf(text: string): { head: string; steps: readonly Step[] } {
  const [head = '', ...blocks] = text.split(/^(?=\$\d* )/m);
  const steps = blocks.map((block) => {
    const [line = '', ...rest] = block.split('\n');
    const [, since = '', command = ''] = /^\$(\d*) kubectl (.*)$/.exec(line) ?? [];
    const end = line.endsWith(' <<EOF') ? rest.indexOf('EOF') : -1;
    const words = wordsOf(command.replace(/ <<EOF$/, ''));
    const input = rest.slice(0, Math.max(0, end)).join('\n');
    return { line, words, input, since: Number(since), printed: rest.slice(end + 1).join('\n') };
  });
  return { head, steps };
}

/** What differs from run to run, and between versions of kubectl. */
function normalised(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '<uid>')
    .replace(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z/g, '<time>')
    .replace(/(resourceVersion"?: ?)"\d+"/g, '$1"<version>"')
    .replace(/(?<=^|\s)\d+(?:d|h|m|s)(?:\d+(?:h|m|s))?(?=\s|$)/gm, '<age>')
    .replace(/127\.0\.0\.1:\d+/g, '<server>')
    .replace(/X509SHA256=[0-9a-f]{64}/g, 'X509SHA256=<hash>')
    .replace(/ deleted from \S+ namespace$/gm, ' deleted')
    .replace(/[ \t]+$/gm, '')
    .replace(/(?<=\S) {3,}/g, '   ');
}

describeWith({ tools: ['kubectl'] }, 'the sweep of kubectl', () => {
  let api: SecuredApiServer;
  let kubectl: Kubectl;
  let stopFlowControl = () => {};
  beforeAll(async () => {
    api = await startSecuredApiServer();
    const { client, informers } = api;
    stopFlowControl = keepFlowControl({ client, informers, log: silentLog });
    await until(async () => {
      const { items } = await client.of(FLOW_SCHEMAS).list();
      expect(items.map(({ status }) => status?.conditions?.length)).toEqual(items.map(() => 1));
    });
    const admin = await api.pki.client('admin', 'system:masters');
    kubectl = await openKubectl(api.url, api.pki.ca, admin);
  });
  afterAll(async () => {
    await kubectl?.close();
    stopFlowControl();
    await api?.close();
  });

  async function seen({ line, words, input, since, printed }: Step): Promise<string> {
    const sent = input === '' ? '' : `${input}\nEOF\n`;
    if (since > MINOR) return `${line}\n${sent}${printed}`;
    const { code, stdout, stderr } = await kubectl.input(input, ...words);
    const ended = code === 0 ? '' : `(exit ${code})\n`;
    return `${line}\n${sent}${normalised(`${stdout}${stderr}`.replace(/\n*$/, '\n'))}${ended}\n`;
  }

  test('prints what the file says', async () => {
    const { head, steps } = stepsOf(await readFile(GOLDEN, 'utf8'));
    const out: string[] = [head];
    // Commands that only read do not disturb one another.
    for (let at = 0; at < steps.length; ) {
      let end = at + 1;
      const isRead = (step: Step | undefined) => READS.has(step?.words[0] ?? '');
      while (end - at < AT_ONCE && isRead(steps[at]) && isRead(steps[end])) end += 1;
      out.push(...(await Promise.all(steps.slice(at, end).map(seen))));
      at = end;
    }
    await expect(out.join('')).toMatchFileSnapshot(GOLDEN);
    expect(steps.length).toBeGreaterThan(200);
  }, 600_000);
});
