// The flag by which every process of Trellis is told how to write its log.
import { expect, test } from 'vitest';
import { trellis } from '../../support/trellisCommand.js';

const COMMANDS = [
  ['up'],
  ['server'],
  ['agent'],
  ['apiserver'],
  ['scheduler'],
  ['controller-manager', '--kubeconfig', 'none'],
  ['kubelet'],
  ['proxy'],
];

test.each(COMMANDS)('%s refuses a form that is none of text and json', async (...command) => {
  const { err, code } = await trellis([...command, '--logging-format', 'xml']);
  expect(err).toMatch(/--logging-format.*text, json/);
  expect(code).toBeGreaterThan(0);
});
