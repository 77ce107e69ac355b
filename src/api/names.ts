// The rules for names of things: objects, labels, keys, ports. Pure.
// Guarantees: each check answers with Kubernetes' own sentences, one a fault; an empty list means the name is good.
import { canonicalIp, formatCidr, parseCidr, parseIp } from './ip.js';

export type NameCheck = (name: string) => readonly string[];

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const NAME_PART = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_VALUE = /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/;
const CONFIG_KEY = /^[-._a-zA-Z0-9]+$/;
const ENV_NAME = /^[ -<>-~]+$/;

const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const LABEL_1035_TEXT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
const NAME_PART_TEXT =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const LABEL_VALUE_TEXT =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const CONFIG_KEY_TEXT =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

const tooLong = (length: number) => `must be no more than ${length} bytes`;

/** Bounded length and one pattern. The length comes first so that no pattern ever sees a huge name. */
function rule(pattern: RegExp, text: string, length: number): NameCheck {
  return (name) => {
    if (name.length > length) return [tooLong(length)];
    return pattern.test(name) ? [] : [text];
  };
}

export const dnsLabel: NameCheck = rule(LABEL, LABEL_TEXT, 63);
export const dnsSubdomain: NameCheck = rule(SUBDOMAIN, SUBDOMAIN_TEXT, 253);
export const dnsLabel1035: NameCheck = rule(LABEL_1035, LABEL_1035_TEXT, 63);
export const labelValue: NameCheck = rule(LABEL_VALUE, LABEL_VALUE_TEXT, 63);

/** Names that must only be usable as one part of a URL's path: the RBAC kinds. */
export const pathSegment: NameCheck = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`);
};

/** `name` or `dns.prefix/name`: label and annotation keys, taints, resources, finalizers. */
export const qualifiedName: NameCheck = (text) => {
  // Nearly all are good, and most have no prefix.
  if (text.length <= 63 && NAME_PART.test(text)) return [];
  const parts = text.split('/', 3);
  if (parts.length > 2)
    return [
      `a qualified name ${NAME_PART_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const name = parts.at(-1) ?? '';
  const faults: string[] = [];
  if (parts.length === 2) {
    const prefix = parts[0] ?? '';
    if (prefix === '') faults.push('prefix part must be non-empty');
    else faults.push(...dnsSubdomain(prefix).map((fault) => `prefix part ${fault}`));
  }
  if (name === '') faults.push('name part must be non-empty');
  else if (name.length > 63) faults.push(`name part ${tooLong(63)}`);
  if (name.length <= 63 && !NAME_PART.test(name)) faults.push(`name part ${NAME_PART_TEXT}`);
  return faults;
};

/** A key of a ConfigMap or Secret, which becomes a file's name. */
export const configKey: NameCheck = (key) => {
  if (key.length > 253) return [tooLong(253)];
  if (!CONFIG_KEY.test(key)) return [CONFIG_KEY_TEXT];
  if (key === '.' || key === '..') return [`must not be '${key}'`];
  return key.startsWith('..') ? ["must not start with '..'"] : [];
};

export const envName: NameCheck = (name) =>
  ENV_NAME.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];

/** The name of a container's port, as an IANA service name. */
export const portName: NameCheck = (name) => {
  if (name.length > 15) return [tooLong(15)];
  const faults: string[] = [];
  if (!/^[-a-z0-9]+$/.test(name))
    faults.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) faults.push('must contain at least one letter (a-z)');
  if (name.includes('--')) faults.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) faults.push('must not begin or end with a hyphen');
  return faults;
};

export const portNumber = (port: number): readonly string[] =>
  Number.isInteger(port) && port >= 1 && port <= 65535 ? [] : ['must be between 1 and 65535, inclusive'];

export const ipAddress: NameCheck = (text) =>
  parseIp(text) === undefined ? ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)'] : [];

/** An address that is a name has one spelling only. */
export const canonicalAddress: NameCheck = (text) => {
  const canonical = canonicalIp(text);
  if (canonical === undefined) return ipAddress(text);
  return canonical === text ? [] : [`must be in canonical form (${JSON.stringify(canonical)})`];
};

/** A network in any spelling that has one meaning: no leading zeros, no bits behind the prefix, no IPv4 inside IPv6. */
export const networkCidr: NameCheck = (text) => {
  const cidr = parseCidr(text);
  if (cidr === undefined)
    return parseCidr(text.replace(/(^|[./])0+(?=\d)/g, '$1')) === undefined
      ? ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)']
      : ['must not have leading 0s in IP or prefix length'];
  if (cidr.family === 'IPv6' && cidr.base >> 32n === 0xffffn)
    return ['must not have an IPv4-mapped IPv6 address'];
  const [address = ''] = text.split('/');
  return canonicalIp(address) === formatCidr(cidr).split('/')[0]
    ? []
    : ['must not have bits set beyond the prefix length'];
};
