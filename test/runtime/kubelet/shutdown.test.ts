// A machine that goes down: systemd's own logind on a bus of the test's own asks, waits for the kubelet, and is told to go on.
// Guarantees: logind has a stand-in for systemd that starts nothing, so that nothing goes down; all ends with the node.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { V1Pod } from '../../../src/api/gen/types.js';
import type { Stored } from '../../../src/api/object.js';
import { EVENTS, NODES } from '../../../src/api/resources.js';
import { ApiNode, NODE, SLEEP, shell } from '../../support/kubelet/apiNode.js';
import { serveOnBus } from '../../support/kubelet/busService.js';
import { describeWith } from '../../support/requires.js';
import { until } from '../../support/until.js';

const LOGIND = '/usr/lib/systemd/systemd-logind';
const MANAGER = ['org.freedesktop.login1', '/org/freedesktop/login1', 'org.freedesktop.login1.Manager'];

/** Everybody may do everything on this bus. */
const policy = (socket: string) => `<busconfig>
  <type>system</type>
  <listen>unix:path=${socket}</listen>
  <auth>EXTERNAL</auth>
  <policy context="default">
    <allow user="*"/> <allow own="*"/> <allow send_destination="*"/> <allow receive_sender="*"/>
    <allow send_type="method_call"/> <allow send_type="signal"/>
  </policy>
</busconfig>`;

const needs = {
  root: true,
  tools: ['containerd', 'runc', 'ctr', 'dbus-daemon', 'busctl', 'systemd-inhibit', 'setpriv'],
  files: ['/bin/busybox', LOGIND],
};
describeWith(needs, 'a machine that goes down', () => {
  let node: ApiNode;
  const daemons: ChildProcess[] = [];
  const killed: unknown[][] = [];
  let said = '';

  /** Among our processes: a bus tells of who calls by process, and the kubelet of this test is none of the node's. */
  const start = (...[file = '', ...args]: readonly string[]) => {
    const entering = node.node.node.entering(file, args).filter((word) => word !== '--pid');
    const daemon = spawn('setpriv', ['--pdeathsig', 'KILL', 'nsenter', ...entering]);
    for (const stream of [daemon.stdout, daemon.stderr])
      stream.on('data', (piece) => {
        said += piece;
      });
    daemons.push(daemon);
    return daemon;
  };
  const logind = (...args: readonly string[]) =>
    node.node.node.run('busctl', `--address=${node.logind.bus}`, 'call', ...MANAGER, ...args);
  const inhibitors = () => logind('ListInhibitors').catch(() => '');
  const readiness = async () => {
    const { status } = await node.client.of(NODES).get({ name: NODE });
    return status.conditions?.find(({ type }) => type === 'Ready');
  };
  const eventually = (what: string, holds: () => Promise<boolean>) =>
    until(async () => {
      if (!(await holds())) throw new Error(`no ${what}: ${node.said()}\n${said}`);
    });

  beforeAll(async () => {
    node = await ApiNode.start({ shutdownGracePeriod: 20_000, shutdownGracePeriodCriticalPods: 8_000 });
    const { node: machine } = node.node;
    const at = (name: string) => path.join(machine.directory, name);
    writeFileSync(at('bus.conf'), policy(at('bus.sock')));
    // The /etc and /run of the node are its own.
    const { configDir } = node.logind;
    mkdirSync(configDir);
    const conf = '/etc/systemd/logind.conf.d';
    await machine.run('sh', '-c', `mkdir -p ${conf} /run/systemd/system; mount --bind ${configDir} ${conf}`);
    start('dbus-daemon', `--config-file=${at('bus.conf')}`, '--nofork');
    await eventually('bus', () =>
      machine.run('busctl', `--address=${node.logind.bus}`, 'list').then(
        () => true,
        () => false,
      ),
    );
    const daemon = start('env', `DBUS_SYSTEM_BUS_ADDRESS=${node.logind.bus}`, LOGIND);
    // In place of systemd: hands a signal to logind, knows its targets, and starts none of them.
    await serveOnBus(at('bus.sock'), 'org.freedesktop.systemd1', ({ member, body = [] }) => {
      if (member === 'Get' && body[1] === 'LoadState') return ['v', [['s', 'loaded']]];
      if (member !== 'KillUnit') return undefined;
      killed.push([...body]);
      daemon.kill('SIGHUP');
      return ['', []];
    });
    await eventually('a lock of the kubelet', async () => (await inhibitors()).includes('"kubelet"'));
  });
  afterAll(async () => {
    for (const daemon of daemons) {
      const ended = once(daemon, 'exit');
      if (daemon.exitCode === null && daemon.kill('SIGKILL')) await ended;
    }
    await node?.stop();
  });

  test('waits while pods end in order; what comes is refused; called off, the node is as before', async () => {
    expect((await readiness())?.status).toBe('True');
    expect(readFileSync(path.join(node.logind.configDir, '99-kubelet.conf'), 'utf8')).toContain(
      '[Login]\nInhibitDelayMaxSec=20\n',
    );
    expect(killed).toEqual([['systemd-logind.service', 'all', 1]]);
    await node.create('plain', {
      terminationGracePeriodSeconds: 30,
      containers: [shell("trap 'sleep 2; exit 0' TERM; while true; do sleep 0.1; done")],
    });
    await node.create('critical', {
      priority: 2_000_001_000,
      containers: [shell("trap 'exit 0' TERM; while true; do sleep 0.1; done")],
    });
    for (const name of ['plain', 'critical']) await node.running(name);
    await logind('PowerOff', 'b', 'false');
    await eventually('not ready', async () => (await readiness())?.status === 'False');
    expect(await readiness()).toMatchObject({ reason: 'KubeletNotReady', message: 'node is shutting down' });
    await node.create('late', { containers: [shell(SLEEP)] });
    const late = await node.ended('late');
    // Told to have failed at once; what counts is when its container has ended.
    const stateOf = ({ status }: Stored<V1Pod>) => status.containerStatuses?.[0]?.state;
    const [plain, critical] = await Promise.all(
      ['plain', 'critical'].map((name) =>
        node.until('over', name, (pod) => stateOf(pod)?.terminated !== undefined),
      ),
    );
    expect(late.status).toMatchObject({
      phase: 'Failed',
      reason: 'NodeShutdown',
      message: 'Pod was rejected: Pod was rejected as the node is shutting down.',
    });
    const message = 'Pod was terminated in response to imminent node shutdown.';
    for (const ended of [plain, critical]) {
      expect(ended?.status).toMatchObject({ phase: 'Failed', reason: 'Terminated', message });
      expect(ended?.status.conditions?.find(({ type }) => type === 'DisruptionTarget')).toMatchObject({
        status: 'True',
        reason: 'TerminationByKubelet',
        message,
      });
    }
    const endOf = (pod: typeof plain) => Date.parse((pod && stateOf(pod))?.terminated?.finishedAt ?? '');
    expect(endOf(critical)).toBeGreaterThanOrEqual(endOf(plain));
    const { items } = await node.client.of(EVENTS).list({ namespace: 'default' });
    expect(items.filter(({ reason }) => reason === 'NodeShutdown').map((one) => one.message)).toContain(
      'Shutdown manager detected shutdown event',
    );
    // The lock is let go: logind goes on, is refused, and calls it off.
    await eventually('ready again', async () => (await readiness())?.status === 'True');
    await eventually('a new lock', async () => (await inhibitors()).includes('"kubelet"'));
    await node.create('after', { containers: [shell(SLEEP)] });
    await node.running('after');
    await node.remove('plain', 'critical', 'late', 'after');
  });
});
