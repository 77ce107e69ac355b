// Whom each controller acts as: everybody has a name, and every name has rights by the default policy.
import { expect, test } from 'vitest';
import { bootstrapBindings, bootstrapNamespaceBindings } from '../../../src/apiserver/auth/bootstrapRoles.js';
import { accountOf } from '../../../src/controllers/accounts.js';
import { controllerNames } from '../../../src/controllers/run.js';

const bound = [...bootstrapBindings, ...bootstrapNamespaceBindings].flatMap(({ subjects }) =>
  (subjects ?? []).filter(({ kind }) => kind === 'ServiceAccount').map(({ name }) => name),
);

test.each([...controllerNames(), 'dns-endpoints-controller', 'kubelet-serving-approving-controller'])(
  '%s acts as an account that the default policy knows',
  (controller) => {
    const account = accountOf(controller);
    // The one that makes tokens needs the controller manager's own.
    if (controller === 'serviceaccount-token-controller') expect(account).toBeUndefined();
    else expect(bound).toContain(account);
  },
);
