// The one file of a cluster: what it may say, what is refused, and what stays in force.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { applyConfigFile } from '../../../src/cli/cluster/configFile.js';
import { upCommand } from '../../../src/cli/cluster/up.js';
import { processTerminal } from '../../../src/cli/terminal.js';
import {
  saveComponents,
  savedKubelet,
  savedProxy,
  savedScheduler,
} from '../../../src/cluster/componentFiles.js';
import { readClusterFile } from '../../../src/cluster/configuration.js';
import { layoutOf } from '../../../src/cluster/layout.js';

let dir = '';
beforeEach(() => {
  dir = mkdtempSync(path.join(tmpdir(), 'trellis-config-'));
});
afterEach(() => rmSync(dir, { recursive: true }));

const CLUSTER = 'apiVersion: trellis.local/v1alpha1\nkind: ClusterConfiguration\n';
const KUBELET = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
const PROXY = 'apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n';
const SCHEDULER = 'apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n';

describe('the documents', () => {
  const documents = [
    `${CLUSTER}nodeName: one\n`,
    `${KUBELET}maxPods: 7\n`,
    `${PROXY}nodePortAddresses: [10.0.0.0/8]\n`,
    `${SCHEDULER}podMaxBackoffSeconds: 20\n`,
  ].join('---\n');

  test('are told apart, kept, and gone with the next file', async () => {
    const layout = layoutOf(dir);
    const read = readClusterFile('c.yaml', documents);
    expect(read.cluster).toEqual({ nodeName: 'one' });
    await saveComponents(layout, read.components);
    expect(await savedKubelet(layout)).toEqual({ maxPods: 7 });
    expect((await savedProxy(layout, 'auto')).nodePortAddresses).toEqual(['10.0.0.0/8']);
    expect((await savedScheduler(layout)).podMaxBackoffMs).toBe(20_000);
    await saveComponents(layout, readClusterFile('c.yaml', CLUSTER).components);
    expect(await savedKubelet(layout)).toEqual({});
    expect(await savedScheduler(layout)).toEqual({});
  });

  test.each([
    ['no YAML', 'a: [', /c\.yaml: /],
    ['a list', '- a\n', /not an object/],
    ['a kind that nobody knows', 'kind: Pod\n', /kind: "Pod" is none of ClusterConfiguration, Kubelet/],
    ['an old version', 'apiVersion: v1\nkind: ClusterConfiguration\n', /apiVersion: must be trellis/],
    ['a kind twice', `${KUBELET}---\n${KUBELET}`, /KubeletConfiguration stands there twice/],
    ['a field that the kubelet lacks', `${KUBELET}maxPodz: 1\n`, /unknown field "maxPodz"/],
    ['a field that the cluster decides', `${KUBELET}port: 1\n`, /KubeletConfiguration: port: is decided/],
    [
      'a file that the cluster decides',
      `${KUBELET}tlsCertFile: /a\ntlsPrivateKeyFile: /b\n`,
      /tlsCertFile: is/,
    ],
    ['the mode in the wrong place', `${PROXY}mode: ipvs\n`, /mode: say it as proxyMode/],
    [
      'the log of the kubelet',
      `${KUBELET}logging: { format: json }\n`,
      /logging\.format: say it as loggingFormat/,
    ],
    [
      'the log of the proxy',
      `${PROXY}logging: { format: json }\n`,
      /logging\.format: say it as loggingFormat/,
    ],
    ['the words of the proxy', `${PROXY}logging: { verbosity: 4 }\n`, /logging\.verbosity: is decided/],
    ['a wrong value of the proxy', `${PROXY}nodePortAddresses: [x]\n`, /nodePortAddresses "x" is not a CIDR/],
    ['a wrong value of the scheduler', `${SCHEDULER}podMaxBackoffSeconds: -1\n`, /podMaxBackoffSeconds/],
  ])('are refused with %s', (_, text, message) => {
    expect(() => readClusterFile('c.yaml', text)).toThrow(message);
  });
});

describe('the fields', () => {
  async function optionsOf(text: string, ...flags: string[]): Promise<Record<string, unknown>> {
    const file = path.join(dir, 'c.yaml');
    writeFileSync(file, CLUSTER + text);
    const command = upCommand(processTerminal()).action(() => {});
    command.parse(flags, { from: 'user' });
    await applyConfigFile(command, file);
    return command.opts();
  }

  test('are the flags, and a flag wins', async () => {
    const text =
      'securePort: 7443\nproxyMode: iptables\ndualStack: true\netcdServers: [https://a, https://b]\nloggingFormat: json\n';
    expect(await optionsOf(text, '--proxy-mode', 'nftables')).toMatchObject({
      securePort: 7443,
      proxyMode: 'nftables',
      dualStack: true,
      loggingFormat: 'json',
      etcdServers: 'https://a,https://b',
    });
  });

  test.each([
    ['securePorts: 1', /securePorts: unknown field; known are .*securePort/],
    ['securePort: 70000', /ClusterConfiguration: securePort: a port is a number/],
    ['proxyMode: fast', /proxyMode: .*auto, /],
    ['loggingFormat: xml', /loggingFormat: .*text, json/],
    ['dualStack: "yes"', /dualStack: must be true or false, not "yes"/],
    ['nodeName: {a: b}', /nodeName: must be a string or a number/],
    ['detach: true', /detach: unknown field/],
  ])('are refused: %s', async (text, message) => {
    await expect(optionsOf(`${text}\n`)).rejects.toThrow(message);
  });
});
