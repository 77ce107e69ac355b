// What `trellis apiserver` tells of itself: its version, and its log as JSON.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openClient } from '../../../src/client/typedClient.js';
import { type ApiServerCommand, startApiServerCommand } from '../../support/apiServerCommand.js';
import { until } from '../../support/until.js';

const MAIN = path.resolve(import.meta.dirname, '../../../dist/src/cli/main.js');

describe('an API server', () => {
  let server: ApiServerCommand;
  beforeAll(async () => {
    server = await startApiServerCommand({
      args: ['--logging-format', 'json', '--audit-log-path', '/dev/full'],
    });
  });
  afterAll(() => server.close());

  test('tells the version, the commit and the Node that trellis version tells', async () => {
    const own = JSON.parse(
      execFileSync(process.execPath, [MAIN, 'version', '-o', 'json'], { encoding: 'utf8' }),
    );
    const client = openClient(server.transport);
    expect(await client.raw('GET', '/version')).toMatchObject({
      major: '1',
      minor: '36',
      gitVersion: `${own.kubernetes}+trellis.${own.version}`,
      gitCommit: own.commit,
      gitTreeState: own.treeState,
      buildDate: own.commitDate,
      compiler: `node ${own.node}`,
    });
    expect(own.commit).toMatch(/^[0-9a-f]{40}$/);
  });

  test('writes its log as JSON when it is told to', async () => {
    const line = await until(() => {
      const [found] = /^\{.*the audit log cannot be written.*$/m.exec(server.output()) ?? [];
      if (found === undefined) throw new Error(`not yet: ${server.output()}`);
      return found;
    });
    expect(JSON.parse(line)).toEqual({
      ts: expect.any(Number),
      logger: 'apiserver',
      msg: 'the audit log cannot be written',
      err: expect.stringContaining('ENOSPC'),
    });
  });
});
