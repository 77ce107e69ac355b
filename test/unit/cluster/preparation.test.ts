// A start that another process prepares: what the supervisor learns of it, and how it ends.
import { describe, expect, test } from 'vitest';
import { prepareApart } from '../../../src/cluster/preparation.js';
import type { Step } from '../../../src/cluster/steps.js';

const steps: Step[] = [];
const said = (word: object) => `process.send(${JSON.stringify(word)});`;
const apart = (script: string) =>
  prepareApart({
    command: [process.execPath, '-e', script],
    env: { WORD: 'of the supervisor' },
    sink: (step) => steps.push(step),
  });
const prepared = { settings: { nodeName: 'n' }, components: [], awaits: ['agent'] };

describe('what is prepared by another process', () => {
  test('comes with its steps, and the rest once the control plane answers', async () => {
    const begin = { type: 'begin', name: 'machine' };
    const component = { name: 'n-2', command: ['true'], speaks: true, isOneStep: true };
    const { afterServer, ...rest } = await apart(
      said({ type: 'step', step: begin }) +
        said({ type: 'prepared', prepared, hasMore: true }) +
        `process.once('message', () => { ${said({ type: 'components', components: [component] })} process.exit(); });`,
    );
    expect(steps).toEqual([begin]);
    expect(rest).toEqual(prepared);
    expect(await afterServer?.()).toEqual([component]);
  });

  test('is all there is when nothing waits for the control plane', async () => {
    const script = `${said({ type: 'prepared', prepared, hasMore: false })}process.exit();`;
    expect(await apart(script)).toEqual(prepared);
  });

  test('is refused with the code and the words of the refusal', async () => {
    const script = `if (process.env.WORD) ${said({ type: 'refused', code: 'PORT_IN_USE', message: 'port 1 is taken' })}`;
    await expect(apart(`${script}setTimeout(() => process.exit(), 10_000)`)).rejects.toMatchObject({
      name: 'ClusterError',
      code: 'PORT_IN_USE',
      message: 'port 1 is taken',
    });
  });

  test('fails when that process ends without a word', async () => {
    await expect(apart('process.exit(3)')).rejects.toMatchObject({
      code: 'COMPONENT_FAILED',
      message: 'the preparation of the start ended with 3',
    });
  });

  test('fails when that process ends while the rest is waited for', async () => {
    const { afterServer } = await apart(
      `${said({ type: 'prepared', prepared, hasMore: true })}process.once('message', () => process.exit(4));`,
    );
    await expect(afterServer?.()).rejects.toMatchObject({
      message: 'the preparation of the start ended with 4',
    });
  });
});
