// Every flag of Kubernetes' components, given to their namesakes here.
// Guarantees: none is unknown; a switch takes true and false; what is refused is told with the flag, the value and what to do.
import { Command, CommanderError } from 'commander';
import { describe, expect, test } from 'vitest';
import { loadCommands } from '../../../../src/cli/program.js';
import { APISERVER } from '../../../../src/cli/stock/apiserver.js';
import { CONTROLLER_MANAGER } from '../../../../src/cli/stock/controllerManager.js';
import type { FixedFlags } from '../../../../src/cli/stock/fixedFlags.js';
import { KUBELET as KUBELET_FIXED } from '../../../../src/cli/stock/kubelet.js';
import { PROXY } from '../../../../src/cli/stock/proxy.js';
import { SCHEDULER } from '../../../../src/cli/stock/scheduler.js';
import { LOG } from '../../../../src/cli/stock/sharedFlags.js';
import { SILENT } from '../../../support/pages/commands.js';
import {
  KUBE_APISERVER,
  KUBE_CONTROLLER_MANAGER,
  KUBE_PROXY,
  KUBE_SCHEDULER,
  KUBELET,
  type StockFlags,
} from './names.js';

const COMPONENTS: readonly (readonly [string, StockFlags, readonly FixedFlags[]])[] = [
  ['apiserver', KUBE_APISERVER, APISERVER],
  ['controller-manager', KUBE_CONTROLLER_MANAGER, CONTROLLER_MANAGER],
  ['scheduler', KUBE_SCHEDULER, SCHEDULER],
  ['kubelet', KUBELET, KUBELET_FIXED],
  ['proxy', KUBE_PROXY, PROXY],
];

/** What the command says to these words, without running: undefined when it takes them. */
async function refusal(component: string, ...words: readonly string[]): Promise<string | undefined> {
  const [make] = await loadCommands(component);
  let shown = '';
  const command = (make?.(SILENT) ?? new Command())
    .exitOverride()
    .configureOutput({ writeErr: (text) => (shown += text), writeOut: () => {} })
    .action(() => {});
  const needed = component === 'controller-manager' ? ['--kubeconfig=/k'] : [];
  try {
    await command.parseAsync([...needed, ...words], { from: 'user' });
    return undefined;
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error;
    return shown;
  }
}

describe.each(COMPONENTS)('%s', (component, stock, groups) => {
  const fixed = new Map([LOG, ...groups].flatMap(({ flags }) => Object.entries(flags)));

  test('knows every flag of its namesake', async () => {
    const [make] = await loadCommands(component);
    const known = new Set(make?.(SILENT).options.map(({ long }) => long));
    const unknown = [...stock.switches, ...stock.valued].filter((name) => !known.has(`--${name}`));
    expect(unknown).toEqual([]);
  });

  test.each(stock.switches)('--%s takes true and false, or says why not', async (name) => {
    for (const value of ['true', 'false']) {
      const said = await refusal(component, `--${name}=${value}`);
      const agrees = fixed.get(name)?.includes(value) ?? true;
      if (agrees) expect(said).toBeUndefined();
      else expect(said).toMatch(new RegExp(`--${name} .*'${value}' is invalid\\. .*leave it out, or give`));
    }
    expect(await refusal(component, `--${name}=perhaps`)).toContain('Expected true or false');
    // Alone it is true.
    expect((await refusal(component, `--${name}`)) === undefined).toBe(
      fixed.get(name)?.includes('true') ?? true,
    );
  });

  test.each([...fixed.keys()])('--%s takes what is done anyway and refuses the rest', async (name) => {
    const agreeing = fixed.get(name) ?? [];
    for (const value of agreeing) expect(await refusal(component, `--${name}=${value}`)).toBeUndefined();
    if (agreeing.every((value) => value === 'true' || value === 'false')) return;
    const said = await refusal(component, `--${name}=something-else`);
    expect(said).toMatch(
      new RegExp(`--${name} <value>' argument 'something-else' is invalid\\. .*leave it out`),
    );
  });

  test('tells its version', async () => {
    let shown = '';
    const [make] = await loadCommands(component);
    const command = make?.({ ...SILENT, write: (text) => (shown += text) }).exitOverride();
    await expect(command?.parseAsync(['--version'], { from: 'user' })).rejects.toThrow('version');
    expect(shown).toMatch(/^Kubernetes v1\.36\./);
  });

  test.each([
    ['--v=4', undefined],
    ['-v=4', undefined],
    ['--v=lots', 'Expected a whole number'],
    ['--vmodule=a=4', 'only --v sets its verbosity'],
    ['--feature-gates=SidecarContainers=true,NodeSwap=false', undefined],
    ['--feature-gates=NodeSwap=true', 'NodeSwap is not built here'],
    ['--feature-gates=SidecarContainers=false', 'SidecarContainers cannot be turned off here'],
    ['--feature-gates=Nonsense=true', 'Nonsense is no feature gate of Kubernetes v1.36'],
    ['--feature-gates=SidecarContainers', 'not written as Name=true'],
  ])('%s', async (word, message) => {
    const said = await refusal(component, word);
    if (message === undefined) expect(said).toBeUndefined();
    else expect(said).toContain(message);
  });
});
