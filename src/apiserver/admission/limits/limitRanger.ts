// LimitRanger: fills in what a namespace's LimitRanges give by default, then refuses what they do not allow.
// Guarantees: what a pod says itself is kept; every broken bound is named, not only the first.
import type { V1LimitRange, V1PersistentVolumeClaim, V1Pod } from '../../../api/gen/types.js';
import type { Draft } from '../../../api/kind.js';
import type { Stored } from '../../../api/object.js';
import { PERSISTENT_VOLUME_CLAIMS, PODS } from '../../../api/resources.js';
import { forbidden } from '../../../api/status.js';
import type { AdmissionPlugin, AdmissionRequest } from '../../admission.js';
import { isMirror } from '../../auth/podReferences.js';
import type { AdmissionLookups } from '../lookups.js';
import { draftOf, isAbout } from '../requests.js';
import { brokenBounds, defaultsOf, missingOf, podResources, type Resources, resourcesOf } from './limits.js';

const ANNOTATION = 'kubernetes.io/limit-ranger';

type ContainerDraft = NonNullable<Draft<V1Pod>['spec']>['containers'][number];

export function makeLimitRanger({ limitRanges }: Pick<AdmissionLookups, 'limitRanges'>): AdmissionPlugin {
  const itemsOf = (namespace: string) =>
    [...limitRanges(namespace)]
      .sort((a: Stored<V1LimitRange>, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
      .flatMap(({ spec }) => spec?.limits ?? []);
  return {
    name: 'LimitRanger',
    mutate(request) {
      const pod = draftOf(request, PODS, 'create');
      if (pod?.spec === undefined || isMirror(pod)) return;
      const defaults = defaultsOf(itemsOf(request.namespace));
      const notes = [
        ...(pod.spec.containers ?? []).flatMap((one) => fill(one, defaults, 'container')),
        ...(pod.spec.initContainers ?? []).flatMap((one) => fill(one, defaults, 'init container')),
      ];
      if (notes.length === 0) return;
      const annotations = {
        ...pod.metadata?.annotations,
        [ANNOTATION]: `LimitRanger plugin set: ${notes.join('; ')}`,
      };
      pod.metadata = { ...pod.metadata, annotations };
    },
    validate(request) {
      const items = itemsOf(request.namespace);
      if (items.length === 0) return;
      const pod = (draftOf(request, PODS, 'create') ?? resizedPod(request)) as V1Pod | undefined;
      const claim = draftOf(request, PERSISTENT_VOLUME_CLAIMS, 'create', 'update') as
        | V1PersistentVolumeClaim
        | undefined;
      const measured = pod === undefined ? measuredClaim(claim) : measuredPod(pod);
      const broken = items.flatMap((item) =>
        measured
          .filter(({ type }) => type === item.type)
          .flatMap(({ resources }) => brokenBounds(item, resources)),
      );
      if (broken.length === 0) return;
      const why = broken.length === 1 ? (broken[0] ?? '') : `[${broken.join(', ')}]`;
      throw forbidden(request.type, request.name, why);
    },
  };
}

/** Nothing is filled in there, but bounds hold as they do for a new pod. */
function resizedPod(request: AdmissionRequest): AdmissionRequest['object'] {
  return isAbout(request, PODS) && request.subresource === 'resize' ? request.object : undefined;
}

interface Measured {
  readonly type: string;
  readonly resources: Resources;
}

function measuredPod({ metadata, spec }: V1Pod): Measured[] {
  if (spec === undefined || isMirror({ metadata })) return [];
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  return [
    ...containers.map((container) => ({ type: 'Container', resources: resourcesOf(container) })),
    { type: 'Pod', resources: podResources(spec) },
  ];
}

function measuredClaim(claim: V1PersistentVolumeClaim | undefined): Measured[] {
  if (claim?.spec === undefined) return [];
  return [{ type: 'PersistentVolumeClaim', resources: resourcesOf(claim.spec) }];
}

/** Answers what it filled in, in the words of the annotation. */
function fill(container: ContainerDraft, defaults: Resources, what: string): string[] {
  const { requests, limits } = resourcesOf(container);
  const missingLimits = missingOf(limits, defaults.limits);
  const missingRequests = missingOf(requests, defaults.requests);
  const added = [
    { names: Object.keys(missingRequests).sort(), word: 'request' },
    { names: Object.keys(missingLimits).sort(), word: 'limit' },
  ].filter(({ names }) => names.length > 0);
  if (added.length === 0) return [];
  container.resources = {
    ...container.resources,
    ...(Object.keys({ ...limits, ...missingLimits }).length > 0
      ? { limits: { ...limits, ...missingLimits } }
      : {}),
    ...(Object.keys({ ...requests, ...missingRequests }).length > 0
      ? { requests: { ...requests, ...missingRequests } }
      : {}),
  };
  return added.map(({ names, word }) => `${names.join(', ')} ${word} for ${what} ${container.name}`);
}
