// Requests without credentials: a user of its own, so that policy can say what strangers may do.
import type { UserInfo } from '../identity.js';
import { UNAUTHENTICATED_GROUP } from './rbac.js';

export const ANONYMOUS: UserInfo = Object.freeze({
  name: 'system:anonymous',
  groups: Object.freeze([UNAUTHENTICATED_GROUP]),
});
