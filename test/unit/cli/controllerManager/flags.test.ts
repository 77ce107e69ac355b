// The flags of `trellis controller-manager`: what they come to, what is refused, what is told to change nothing.
import { Command } from 'commander';
import { describe, expect, test } from 'vitest';
import { controllersOptions, type Flags, withFlags } from '../../../../src/cli/controllerManager/flags.js';
import { enabledNames } from '../../../../src/controllers/enabled.js';
import { controllerNames } from '../../../../src/controllers/run.js';

function parse(...words: string[]): Flags {
  const command = withFlags(new Command('controller-manager')).exitOverride();
  command.configureOutput({ writeErr: () => {} });
  return command.parse(['--kubeconfig=/k', ...words], { from: 'user' }).opts();
}
const options = (...words: string[]) => controllersOptions(parse(...words), 'PEM');

describe('flags of the controller manager', () => {
  test("have Kubernetes' defaults", () => {
    expect(options()).toMatchObject({
      enabled: ['*'],
      nodePrefixes: { IPv4: 24, IPv6: 64 },
      nodeMonitorGracePeriodMs: 40_000,
      terminatedPods: 12_500,
      autoscaler: { periodMs: 15_000, tolerance: 0.1, downscaleStabilizationMs: 300_000 },
      workers: {},
    });
  });

  test('reach the controllers', () => {
    const given = options(
      '--allocate-node-cidrs=false',
      '--enable-garbage-collector=false',
      '--node-cidr-mask-size=25',
      '--node-cidr-mask-size-ipv6',
      '80',
      '--terminated-pod-gc-threshold=7',
      '--horizontal-pod-autoscaler-sync-period=5s',
      '--concurrent-service-endpoint-syncs=40',
      '--mirroring-concurrent-service-endpoint-syncs=3',
    );
    expect(given).toMatchObject({
      enabled: ['-node-ipam-controller', '-garbage-collector-controller', '*'],
      nodePrefixes: { IPv4: 25, IPv6: 80 },
      terminatedPods: 7,
      autoscaler: { periodMs: 5_000 },
      workers: { 'endpointslice-controller': 40, 'endpointslice-mirroring-controller': 3 },
    });
    const names = enabledNames(controllerNames(), given.enabled ?? []);
    expect(names).not.toContain('node-ipam-controller');
    expect(Object.keys(given.workers ?? {}).every((name) => controllerNames().includes(name))).toBe(true);
  });

  test('publish no CA when there is none', () => {
    const off = controllersOptions(parse(), '').enabled;
    expect(enabledNames(controllerNames(), off ?? [])).not.toContain(
      'root-ca-certificate-publisher-controller',
    );
  });

  test('take the command line that kubeadm writes', () => {
    const flags = parse(
      '--allocate-node-cidrs=true',
      '--authentication-kubeconfig=/c',
      '--authorization-kubeconfig=/c',
      '--bind-address=127.0.0.1',
      '--client-ca-file=/ca',
      '--cluster-cidr=10.244.0.0/16',
      '--cluster-name=kubernetes',
      '--cluster-signing-cert-file=/ca',
      '--cluster-signing-key-file=/key',
      '--controllers=*,bootstrapsigner,tokencleaner',
      '--leader-elect=true',
      '--requestheader-client-ca-file=/front',
      '--root-ca-file=/ca',
      '--service-account-private-key-file=/sa',
      '--service-cluster-ip-range=10.96.0.0/12',
      '--use-service-account-credentials=true',
    );
    expect(flags).toMatchObject({ bindAddress: '127.0.0.1', clusterCidr: '10.244.0.0/16' });
    const { enabled = [] } = controllersOptions(flags, 'PEM');
    expect(enabledNames(controllerNames(), enabled)).toEqual(controllerNames());
  });

  test.each([
    ['--concurrent-gc-syncs=0', 'must be at least 1'],
    ['--node-monitor-period=soon', 'must be a duration'],
    ['--leader-elect-resource-lock=endpoints', 'Allowed choices are leases'],
    ['--cluster-signing-kubelet-serving-cert-file=/x', 'one CA signs for all signers'],
  ])('%s is refused', (word, message) => {
    expect(() => parse(word)).toThrow(message);
  });
  test('refuse to run nothing', () => {
    expect(() => options('--controllers=-nodelifecycle')).toThrow(
      "--controllers: -nodelifecycle leaves no controller to run; put * before it: --controllers='*,-nodelifecycle'",
    );
  });
  test('refuse networks of pods and Services that overlap', () => {
    const given = (range: string) => () =>
      options('--cluster-cidr=10.0.0.0/8', `--service-cluster-ip-range=${range}`);
    expect(given('10.96.0.0/12')).toThrow('10.96.0.0/12 and --cluster-cidr 10.0.0.0/8 overlap');
    expect(given('services')).toThrow('"services" is not a network');
    expect(given('fd00::/112')).not.toThrow();
  });
  test('refuse a network smaller than one address', () => {
    expect(() => options('--node-cidr-mask-size=33')).toThrow(
      '--node-cidr-mask-size-ipv4: 33 is not between',
    );
  });

  test('say in the help which of them change nothing, and why', () => {
    const help = withFlags(new Command('controller-manager')).helpInformation().replace(/\s+/g, ' ');
    expect(help).toContain(
      'no effect, with a warning in the log: tokens in Secrets are signed by the apiserver',
    );
  });
});
