// The restricted level of the pod security standards, on top of the baseline: a pod that is hardened. Pure.
// Guarantees: Kubernetes' checks in Kubernetes' order and words; pods for Windows are spared what Windows does not have.
import type { V1Volume } from '../../../api/gen/types.js';
import {
  type Check,
  type CheckedPod,
  containersNamed,
  containersWhere,
  plural,
  quoted,
  settersNamed,
} from './check.js';

const VOLUMES = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
/** The policy version from which checks that Windows cannot meet spare its pods. */
const WINDOWS_SINCE = 25;

const isWindows = ({ spec, minor }: CheckedPod) => minor >= WINDOWS_SINCE && spec.os?.name === 'windows';

const allowPrivilegeEscalation: Check = {
  id: 'allowPrivilegeEscalation',
  find(pod) {
    if (isWindows(pod)) return undefined;
    const names = containersWhere(pod, (context) => context.allowPrivilegeEscalation !== false);
    if (names.length === 0) return undefined;
    const detail = `${containersNamed(names)} must set securityContext.allowPrivilegeEscalation=false`;
    return { reason: 'allowPrivilegeEscalation != false', detail };
  },
};

const capabilities: Check = {
  id: 'capabilities_restricted',
  replaces: 'capabilities_baseline',
  find(pod) {
    if (isWindows(pod)) return undefined;
    const extra = (add: readonly string[] = []) => add.filter((one) => one !== 'NET_BIND_SERVICE');
    const keeping = containersWhere(pod, (context) => context.capabilities?.drop?.includes('ALL') !== true);
    const adding = containersWhere(pod, (context) => extra(context.capabilities?.add).length > 0);
    const added = pod.containers.flatMap(({ securityContext }) => extra(securityContext?.capabilities?.add));
    const parts = [
      ...(keeping.length > 0
        ? [`${containersNamed(keeping)} must set securityContext.capabilities.drop=["ALL"]`]
        : []),
      ...(adding.length > 0
        ? [
            `${containersNamed(adding)} must not include ${quoted([...new Set(added)].sort())} in securityContext.capabilities.add`,
          ]
        : []),
    ];
    return parts.length === 0 ? undefined : { reason: 'unrestricted capabilities', detail: parts.join('; ') };
  },
};

const restrictedVolumes: Check = {
  id: 'restrictedVolumes',
  replaces: 'hostPathVolumes',
  find({ spec }) {
    const typeOf = (volume: V1Volume) => Object.keys(volume).find((key) => key !== 'name') ?? 'unknown';
    const bad = (spec.volumes ?? []).filter((volume) => !VOLUMES.includes(typeOf(volume)));
    if (bad.length === 0) return undefined;
    const names = quoted(bad.map(({ name }) => name));
    const types = [...new Set(bad.map(typeOf))].sort();
    const detail = `${plural('volume', 'volumes', bad.length)} ${names} ${plural('uses', 'use', bad.length)} restricted volume ${plural('type', 'types', types.length)} ${quoted(types)}`;
    return { reason: 'restricted volume types', detail };
  },
};

const runAsNonRoot: Check = {
  id: 'runAsNonRoot',
  find(pod) {
    // In a user namespace root is nobody outside.
    if (pod.minor >= 35 && pod.spec.hostUsers === false) return undefined;
    const own = pod.spec.securityContext?.runAsNonRoot;
    const refusing = containersWhere(pod, (context) => context.runAsNonRoot === false);
    if (refusing.length > 0 || own === false) {
      const detail = `${settersNamed(own === false, refusing)} must not set securityContext.runAsNonRoot=false`;
      // A pod that says false is no fault while every container says true.
      const silent = containersWhere(pod, (context) => context.runAsNonRoot === undefined);
      if (refusing.length > 0 || silent.length > 0) return { reason: 'runAsNonRoot != true', detail };
      return undefined;
    }
    const names = own === true ? [] : containersWhere(pod, (context) => context.runAsNonRoot !== true);
    if (names.length === 0) return undefined;
    const detail = `pod or ${containersNamed(names)} must set securityContext.runAsNonRoot=true`;
    return { reason: 'runAsNonRoot != true', detail };
  },
};

const runAsUser: Check = {
  id: 'runAsUser',
  find(pod) {
    if (pod.minor < 23 || (pod.minor >= 35 && pod.spec.hostUsers === false)) return undefined;
    const isPod = pod.spec.securityContext?.runAsUser === 0;
    const names = containersWhere(pod, (context) => context.runAsUser === 0);
    if (names.length === 0 && !isPod) return undefined;
    return { reason: 'runAsUser=0', detail: `${settersNamed(isPod, names)} must not set runAsUser=0` };
  },
};

const seccompProfile: Check = {
  id: 'seccompProfile_restricted',
  replaces: 'seccompProfile_baseline',
  find(pod) {
    if (isWindows(pod) || pod.minor < 19) return undefined;
    const isGood = (type: string | undefined) => type === 'RuntimeDefault' || type === 'Localhost';
    const own = pod.spec.securityContext?.seccompProfile?.type;
    const wrong = containersWhere(
      pod,
      ({ seccompProfile: profile }) => profile?.type !== undefined && !isGood(profile.type),
    );
    const silent = containersWhere(pod, (context) => context.seccompProfile?.type === undefined);
    const isPodWrong = own !== undefined && !isGood(own);
    const parts = [
      ...(isPodWrong || wrong.length > 0
        ? [
            `${settersNamed(isPodWrong, wrong)} must not set securityContext.seccompProfile.type to ${quoted([...new Set([...(isPodWrong ? [own] : []), ...wrongTypes(pod, isGood)])].sort())}`,
          ]
        : []),
      ...(own === undefined && silent.length > 0
        ? [
            `pod or ${containersNamed(silent)} must set securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"`,
          ]
        : []),
    ];
    return parts.length === 0 ? undefined : { reason: 'seccompProfile', detail: parts.join('; ') };
  },
};

function wrongTypes({ containers }: CheckedPod, isGood: (type: string | undefined) => boolean): string[] {
  return containers
    .flatMap(({ securityContext }) => securityContext?.seccompProfile?.type ?? [])
    .filter((type) => !isGood(type));
}

export const RESTRICTED: readonly Check[] = [
  allowPrivilegeEscalation,
  capabilities,
  restrictedVolumes,
  runAsNonRoot,
  runAsUser,
  seccompProfile,
];
