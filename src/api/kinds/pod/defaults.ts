// What Kubernetes fills into a pod's spec when the user does not say. Pure.
// Guarantees: idempotent; never overrides what was said, but for a negative grace period. A template gets what every spec
// gets, and not what is a pod's alone: a later change of the template would meet it as the user's own.
import type {
  V1Container,
  V1LifecycleHandler,
  V1PodSpec,
  V1Probe,
  V1ResourceRequirements,
  V1Volume,
} from '../../gen/types.js';
import type { Draft } from '../../kind.js';
import { defaultSources } from '../volumeDefaults.js';

const DEFAULT_MODE = 0o644;

/** Of a pod itself. */
export function defaultPod(spec: Draft<V1PodSpec>): void {
  defaultPodSpec(spec);
  if ((spec.terminationGracePeriodSeconds ?? 0) < 0) spec.terminationGracePeriodSeconds = 1;
  spec.enableServiceLinks ??= true;
  for (const container of [...(spec.initContainers ?? []), ...(spec.containers ?? [])]) {
    if (container.resources !== undefined) defaultRequests(container.resources);
    // On the node's own network a port of the container is one of the node.
    if (spec.hostNetwork === true)
      for (const port of container.ports ?? []) port.hostPort ||= port.containerPort;
  }
}

/** Of pods and of templates. */
export function defaultPodSpec(spec: Draft<V1PodSpec>): void {
  spec.restartPolicy ||= 'Always';
  spec.terminationGracePeriodSeconds ??= 30;
  spec.dnsPolicy ||= 'ClusterFirst';
  spec.schedulerName ||= 'default-scheduler';
  spec.securityContext ??= {};
  defaultServiceAccount(spec);
  const wishes = spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  for (const wish of wishes) wish.preference ??= {};
  for (const volume of spec.volumes ?? []) defaultVolume(volume);
  for (const container of spec.initContainers ?? []) defaultContainer(container);
  for (const container of spec.containers ?? []) defaultContainer(container);
  for (const container of spec.ephemeralContainers ?? []) defaultContainer(container);
}

/** The old name of the field is kept equal, for readers that know only it. */
function defaultServiceAccount(spec: Draft<V1PodSpec>): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (!name) return;
  spec.serviceAccountName = name;
  spec.serviceAccount = name;
}

function defaultContainer(container: Draft<V1Container>): void {
  container.terminationMessagePath ||= '/dev/termination-log';
  container.terminationMessagePolicy ||= 'File';
  container.imagePullPolicy ||= pullPolicyFor(container.image ?? '');
  container.resources ??= {};
  for (const port of container.ports ?? []) port.protocol ||= 'TCP';
  for (const { valueFrom } of container.env ?? [])
    if (valueFrom?.fieldRef !== undefined) valueFrom.fieldRef.apiVersion ||= 'v1';
  for (const probe of [container.livenessProbe, container.readinessProbe, container.startupProbe])
    if (probe !== undefined) defaultProbe(probe);
  for (const handler of [container.lifecycle?.postStart, container.lifecycle?.preStop])
    if (handler !== undefined) defaultHttpGet(handler);
}

/** A tag that moves is pulled every time; no tag means latest, unless a digest pins the image. */
export function pullPolicyFor(image: string): 'Always' | 'IfNotPresent' {
  const [name = ''] = image.split('@');
  const tag = /:([^/:]+)$/.exec(name)?.[1];
  if (tag === undefined) return image.includes('@') ? 'IfNotPresent' : 'Always';
  return tag === 'latest' ? 'Always' : 'IfNotPresent';
}

function defaultRequests(resources: Draft<V1ResourceRequirements>): void {
  if (resources.limits === undefined) return;
  resources.requests = { ...resources.limits, ...resources.requests };
}

function defaultProbe(probe: Draft<V1Probe>): void {
  probe.timeoutSeconds ||= 1;
  probe.periodSeconds ||= 10;
  probe.successThreshold ||= 1;
  probe.failureThreshold ||= 3;
  defaultHttpGet(probe);
  if (probe.grpc !== undefined) probe.grpc.service ??= '';
}

function defaultHttpGet({ httpGet }: Draft<Pick<V1LifecycleHandler, 'httpGet'>>): void {
  if (httpGet === undefined) return;
  httpGet.path ||= '/';
  httpGet.scheme ||= 'HTTP';
}

function defaultVolume(volume: Draft<V1Volume>): void {
  if (Object.keys(volume).every((key) => key === 'name')) volume.emptyDir = {};
  for (const source of [volume.secret, volume.configMap, volume.downwardAPI, volume.projected])
    if (source !== undefined) source.defaultMode ??= DEFAULT_MODE;
  defaultSources(volume);
  if (volume.image?.reference) volume.image.pullPolicy ||= pullPolicyFor(volume.image.reference);
  const projections = volume.projected?.sources ?? [];
  for (const { serviceAccountToken } of projections)
    if (serviceAccountToken !== undefined) serviceAccountToken.expirationSeconds ??= 3600;
  const files = [volume.downwardAPI, ...projections.map((source) => source.downwardAPI)];
  for (const file of files.flatMap((source) => source?.items ?? []))
    if (file.fieldRef !== undefined) file.fieldRef.apiVersion ||= 'v1';
  const claim = volume.ephemeral?.volumeClaimTemplate?.spec;
  if (claim !== undefined) claim.volumeMode ??= 'Filesystem';
}
