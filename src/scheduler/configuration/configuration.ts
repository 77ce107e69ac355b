// KubeSchedulerConfiguration v1: the file that says which profiles a scheduler has, and how it behaves.
// Guarantees: everything is checked before anything starts; the first wrong field is named.
import { parse } from 'yaml';
import type { ConfigFields } from '../../base/configFields.js';
import type { Profile } from '../choose.js';
import { SchedulerError } from '../error.js';
import type { ExtenderSettings } from '../extenders/extender.js';
import { readExtenders } from './extenders.js';
import { fieldsOf, wrong } from './fields.js';
import { DEFAULT_SCHEDULER_NAME, readProfile } from './profiles.js';

export interface LeaderElectionSettings {
  readonly leaderElect: boolean;
  readonly leaseDurationMs: number;
  readonly renewDeadlineMs: number;
  readonly retryPeriodMs: number;
  readonly resourceName: string;
  readonly resourceNamespace: string;
}

export interface SchedulerConfiguration {
  readonly profiles: readonly Profile[];
  readonly podInitialBackoffMs: number;
  readonly podMaxBackoffMs: number;
  readonly leaderElection: LeaderElectionSettings;
  readonly kubeconfig: string | undefined;
  readonly extenders: readonly ExtenderSettings[];
}

const API_VERSION = 'kubescheduler.config.k8s.io/v1';

export function parseConfiguration(text: string): SchedulerConfiguration {
  let raw: unknown;
  try {
    raw = parse(text);
  } catch (cause) {
    throw new SchedulerError('CONFIG', 'the configuration is not valid YAML', { cause });
  }
  const fields = fieldsOf(raw);
  if (fields.text('apiVersion') !== API_VERSION) throw wrong('apiVersion', `must be ${API_VERSION}`);
  if (fields.text('kind') !== 'KubeSchedulerConfiguration')
    throw wrong('kind', 'must be KubeSchedulerConfiguration');
  return readConfiguration(fields);
}

/** What applies without a file. */
export function defaultConfiguration(): SchedulerConfiguration {
  return readConfiguration(fieldsOf({}));
}

function readConfiguration(fields: ConfigFields): SchedulerConfiguration {
  // How many goroutines Kubernetes would use; one thread looks at all nodes here.
  fields.number('parallelism', 1, 2 ** 31 - 1);
  for (const name of ['enableProfiling', 'enableContentionProfiling', 'delayCacheUntilActive'])
    fields.flag(name);
  const percentage = fields.number('percentageOfNodesToScore', 0, 100) ?? 0;
  const podInitialBackoffSeconds = fields.number('podInitialBackoffSeconds', 1, 2 ** 31) ?? 1;
  const podMaxBackoffSeconds = fields.number('podMaxBackoffSeconds', 1, 2 ** 31) ?? 10;
  if (podMaxBackoffSeconds < podInitialBackoffSeconds)
    throw wrong(
      'podMaxBackoffSeconds',
      `Invalid value: ${podMaxBackoffSeconds}: must be greater than or equal to PodInitialBackoffSeconds`,
    );
  const extenders = readExtenders(fields.parts('extenders') ?? []);
  const ignoredResources = extenders.flatMap(({ managedResources }) =>
    managedResources.filter(({ ignoredByScheduler }) => ignoredByScheduler).map(({ name }) => name),
  );
  const leaderElection = readLeaderElection(fields.section('leaderElection'));
  const kubeconfig = readConnection(fields.part('clientConnection'));
  const listed = fields.parts('profiles') ?? [fieldsOf({}, 'profiles[0]')];
  const profiles = listed.map((part) => readProfile(part, { percentage, ignoredResources }));
  fields.end();
  checkNames(profiles);
  return {
    profiles,
    podInitialBackoffMs: podInitialBackoffSeconds * 1000,
    podMaxBackoffMs: podMaxBackoffSeconds * 1000,
    leaderElection,
    kubeconfig,
    extenders,
  };
}

function checkNames(profiles: readonly Profile[]): void {
  if (profiles.length === 0) throw wrong('profiles', 'Required value');
  const seen = new Set<string>();
  profiles.forEach(({ schedulerName }, at) => {
    if (seen.has(schedulerName))
      throw wrong(`profiles[${at}].schedulerName`, `Duplicate value: ${JSON.stringify(schedulerName)}`);
    seen.add(schedulerName || DEFAULT_SCHEDULER_NAME);
  });
}

function readLeaderElection(fields: ConfigFields): LeaderElectionSettings {
  const settings = {
    leaderElect: fields.flag('leaderElect') ?? true,
    leaseDurationMs: fields.duration('leaseDuration') ?? 15_000,
    renewDeadlineMs: fields.duration('renewDeadline') ?? 10_000,
    retryPeriodMs: fields.duration('retryPeriod') ?? 2_000,
    resourceName: fields.text('resourceName') ?? 'kube-scheduler',
    resourceNamespace: fields.text('resourceNamespace') ?? 'kube-system',
  };
  fields.oneOf('resourceLock', ['leases']);
  fields.end();
  if (settings.leaseDurationMs <= settings.renewDeadlineMs)
    throw wrong(fields.path('leaseDuration'), 'must be greater than renewDeadline');
  if (settings.renewDeadlineMs <= settings.retryPeriodMs)
    throw wrong(fields.path('renewDeadline'), 'must be greater than retryPeriod');
  return settings;
}

/** The kubeconfig. Rates are the apiserver's to limit; they are accepted and have no effect. */
function readConnection(fields: ConfigFields | undefined): string | undefined {
  const kubeconfig = fields?.text('kubeconfig');
  for (const name of ['acceptContentTypes', 'contentType']) fields?.text(name);
  fields?.any('qps');
  fields?.number('burst', 0, 2 ** 31 - 1);
  fields?.end();
  return kubeconfig === '' ? undefined : kubeconfig;
}
