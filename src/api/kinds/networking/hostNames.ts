// Host names with a star for their first label. Pure.
import type { NameCheck } from '../../names.js';

const PATTERN = /^\*\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const TEXT =
  "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character (e.g. '*.example.com', regex used for validation is '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const MAX_LENGTH = 253;

export const wildcardSubdomain: NameCheck = (name) => {
  if (name.length > MAX_LENGTH) return [`must be no more than ${MAX_LENGTH} bytes`];
  return PATTERN.test(name) ? [] : [TEXT];
};
