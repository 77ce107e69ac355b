// The authorizers that --authorization-mode names, in the order it names them.
// Guarantees: system:masters may do everything whatever the modes say; an unknown or doubled mode is refused.
import type { V1PolicyRule } from '../../api/gen/types.js';
import type { KindDefinition } from '../../api/kind.js';
import { KINDS } from '../../api/kinds/index.js';
import type { Informers } from '../../client/informer.js';
import { ApiServerError } from '../error.js';
import type { Authorizer, Decision, UserInfo } from '../identity.js';
import { makeAbacAuthorizer } from './abac.js';
import { makeNodeAuthorizer } from './nodeAuthorizer.js';
import { SUPERUSER_GROUP } from './rbac.js';
import { firstOpinion, makeRbacAuthorizer, type RbacAuthorizer } from './rbacAuthorizer.js';

const AUTHORIZATION_MODES = ['AlwaysAllow', 'AlwaysDeny', 'ABAC', 'Node', 'RBAC'] as const;
export type AuthorizationMode = (typeof AUTHORIZATION_MODES)[number];

interface Authorization {
  readonly authorizer: Authorizer;
  /** Set while RBAC is among the modes. */
  readonly rbac?: RbacAuthorizer;
  /** What SelfSubjectRulesReview tells. */
  rulesFor(user: UserInfo, namespace: string): readonly V1PolicyRule[];
}

const EVERYTHING: V1PolicyRule[] = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

export function parseModes(text: string): readonly AuthorizationMode[] {
  const names = text.split(',').map((name) => name.trim());
  const modes = names.map((name) => {
    const mode = AUTHORIZATION_MODES.find((known) => known === name);
    if (mode !== undefined) return mode;
    const known = AUTHORIZATION_MODES.join(', ');
    throw new ApiServerError(
      'UNKNOWN_MODE',
      `"${name}" is no authorization mode that is served here; these are: ${known}`,
    );
  });
  if (new Set(modes).size === modes.length) return modes;
  throw new ApiServerError('UNKNOWN_MODE', `the authorization modes ${names.join(',')} name one mode twice`);
}

export function makeAuthorization(options: {
  readonly informers: Informers;
  readonly modes: readonly AuthorizationMode[];
  /** Content of the policy file; ABAC needs one. */
  readonly policyFile?: string | undefined;
  /** What the server serves: of nothing else is there anything to know. */
  readonly kinds?: readonly KindDefinition[];
  /** Told of what is taken, but should be written otherwise. */
  warn?(sentence: string): void;
}): Authorization {
  const { informers, modes, policyFile, kinds = KINDS, warn } = options;
  if (modes.includes('ABAC') !== (policyFile !== undefined))
    throw new ApiServerError(
      'UNKNOWN_MODE',
      'the authorization mode ABAC and --authorization-policy-file are given together or not at all',
    );
  const rbac = modes.includes('RBAC') ? makeRbacAuthorizer(informers) : undefined;
  const make: Record<AuthorizationMode, () => Authorizer> = {
    AlwaysAllow: () => always('allow', ''),
    AlwaysDeny: () => always('no opinion', 'Everything is forbidden.'),
    ABAC: () => makeAbacAuthorizer(policyFile ?? '', warn),
    Node: () => makeNodeAuthorizer(informers, kinds),
    RBAC: () => rbac ?? makeRbacAuthorizer(informers),
  };
  const allowsAll = modes.includes('AlwaysAllow');
  return {
    authorizer: firstOpinion([privileged, ...modes.map((mode) => make[mode]())]),
    ...(rbac === undefined ? {} : { rbac }),
    rulesFor: (user, namespace) =>
      allowsAll || user.groups.includes(SUPERUSER_GROUP)
        ? EVERYTHING
        : (rbac?.rulesFor(user, namespace) ?? []),
  };
}

const ALLOW: Decision = { verdict: 'allow', reason: '' };
const NO_OPINION: Decision = { verdict: 'no opinion', reason: '' };
const privileged: Authorizer = {
  authorize: ({ user }) => (user.groups.includes(SUPERUSER_GROUP) ? ALLOW : NO_OPINION),
};

function always(verdict: 'allow' | 'no opinion', reason: string): Authorizer {
  return { authorize: () => ({ verdict, reason }) };
}
