// Kubernetes' named formats of text in expressions: format.dns1123Label().validate(name).
// Guarantees: the checks are those of the API's own names; an optional without a value means valid.
import {
  dnsLabel,
  dnsLabel1035,
  dnsSubdomain,
  labelValue,
  type NameCheck,
  qualifiedName,
} from '../../api/names.js';
import { lengthOf, type Overload, overload, traversal } from '../signature.js';
import { FormatValue, ListValue, OptionalValue } from '../values.js';
import { parseUrl } from './url.js';

const prefix =
  (check: NameCheck): NameCheck =>
  (text) =>
    check(text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const by =
  (form: RegExp, words: string): NameCheck =>
  (text) =>
    form.test(text) ? [] : [words];

const isDate = (text: string) => !Number.isNaN(Date.parse(text));

const FORMATS: Readonly<Record<string, NameCheck>> = {
  dns1123Label: dnsLabel,
  dns1123Subdomain: dnsSubdomain,
  dns1035Label: dnsLabel1035,
  qualifiedName,
  dns1123LabelPrefix: prefix(dnsLabel),
  dns1123SubdomainPrefix: prefix(dnsSubdomain),
  dns1035LabelPrefix: prefix(dnsLabel1035),
  labelValue,
  uri: (text) => (parseUrl(text) === undefined ? ['invalid URL'] : []),
  uuid: by(
    /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i,
    'does not match the UUID format',
  ),
  byte: by(/^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/, 'invalid base64'),
  date: (text) => (/^\d{4}-\d{2}-\d{2}$/.test(text) && isDate(text) ? [] : ['invalid date']),
  datetime: (text) =>
    /^\d{4}-\d{2}-\d{2}[Tt]\d{2}:\d{2}:\d{2}/.test(text) && isDate(text) ? [] : ['invalid datetime'],
};

const values = new Map(Object.entries(FORMATS).map(([name, check]) => [name, new FormatValue(name, check)]));

/** The most characters of an expression behind a format. */
const REGEX_SIZE = 128;

export const FORMAT_FUNCTIONS: readonly Overload[] = [
  ...Array.from(values, ([name, value]) => overload(`format.${name}(): Format`, () => value)),
  overload(
    'format.named(string): optional<Format>',
    ([name]) => new OptionalValue(values.get(name as string)),
  ),
  overload(
    'Format.validate(string): optional<list<string>>',
    ([format, text]) => {
      const faults = (format as FormatValue).validate(text as string);
      return faults.length === 0 ? OptionalValue.none : new OptionalValue(ListValue.of(faults));
    },
    {
      estimate: ([, text]) => ({ cost: traversal((text?.size ?? 0) + 1) * (REGEX_SIZE / 4) }),
      cost: ([, text]) => traversal(lengthOf(text) + 1) * (REGEX_SIZE / 4),
    },
  ),
];
