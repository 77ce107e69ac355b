// What can be added to Trellis, as CONTRIBUTING lists it: each is on a page that people read.
// Guarantees: something new that no page names fails here, by its name.
import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { PLUGIN_NAMES } from '../../../src/apiserver/admission/choice.js';
import { createProgram } from '../../../src/cli/program.js';
import { controllerNames } from '../../../src/controllers/run.js';
import { MODE_NAMES } from '../../../src/proxy/modeNames.js';
import { PLUGINS } from '../../../src/scheduler/configuration/registry.js';
import { COMMANDS, SILENT } from '../../support/pages/commands.js';

const below = (folder: string, ending: RegExp) =>
  readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => ending.test(name))
    .map((name) => `${folder}/${name}`);
const textOf = (files: readonly string[]) => files.map((file) => readFileSync(file, 'utf8')).join('\n');
const found = (text: string, pattern: RegExp) => [...text.matchAll(pattern)].map(([, name = '']) => name);

const pages = textOf(['README.md', ...below('docs', /\.md$/), ...below('proxy-modes', /README\.md$/)]);
const plugins = textOf(below('cni-plugins', /\.cc$/));
const metrics = textOf(
  below('src', /\.ts$/).filter((file) => readFileSync(file, 'utf8').includes('/base/metrics.js')),
);

const ADDED: Readonly<Record<string, readonly string[]>> = {
  'admission plugin': PLUGIN_NAMES,
  'scheduler plugin': [...PLUGINS.keys()],
  controller: controllerNames(),
  'proxy mode': MODE_NAMES,
  'CLI command': createProgram(SILENT, COMMANDS).commands.map((command) => command.name()),
  'CNI plugin': found(plugins, /^const Plugin k\w+ = \{"([\w-]+)"/gm),
  metric: [...new Set(found(metrics, /'((?:apiserver|kubelet|kubeproxy|scheduler|trellis)_[a-z_]+)'/g))],
};

/** The beginning of several names, which stands alone in the sources. */
const BEGINNINGS = ['kubeproxy_sync_proxy_rules'];
/** Ports of the kernel whose operations have kinds. */
const PORTS = ['ipset', 'ipvs', 'nftables', 'route'];

describe.each(Object.entries(ADDED))('each %s', (_, names) => {
  const isNamedIn = (text: string) => (name: string) => new RegExp(`(?<![\\w-])${name}(?![\\w-])`).test(text);

  test('is found', () => expect(names.length).toBeGreaterThan(3));

  test('is on a page', () => {
    const missing = names.filter((name) => !isNamedIn(pages)(name));
    expect(missing.filter((name) => !BEGINNINGS.includes(name))).toEqual([]);
  });
});

test('each CNI plugin is in the list of the executable', () => {
  const declared = found(plugins, /^const Plugin (k\w+) = /gm);
  expect(found(plugins, /&trellis::cni::(k\w+)[,}]/g).sort()).toEqual(declared.sort());
});

test.each(PORTS)('each kind of object of the port %s is in its contract', (port) => {
  const kinds = found(textOf(below(`src/kernel/${port}`, /\.ts$/)), /readonly kind: '(\w+)'/g);
  const contract = textOf(
    below('test/support/contracts', /\.ts$/).filter((file) => file.includes(`contracts/${port}`)),
  );
  expect(kinds.length).toBeGreaterThan(0);
  expect(kinds.filter((kind) => !contract.includes(`kind: '${kind}'`))).toEqual([]);
});
