// The verbs that authorization has for the methods of HTTP. Pure.
// Guarantees: a method that is not here has none.

export const VERB_OF_METHOD: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
  // As in Kubernetes: no verb of its own, so that only a rule for all of them grants it.
  OPTIONS: '',
};
