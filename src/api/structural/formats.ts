// The formats that a string of a schema may have. Pure.
// Guarantees: a format that Kubernetes does not know says nothing of a value; each check is linear in the text.
import { isGoDuration } from '../../base/goDuration.js';
import { parseCidr, parseIp } from '../ip.js';
import { dnsLabel, dnsSubdomain } from '../names.js';

type FormatCheck = (text: string) => boolean;

const UUID = /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const UUID3 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i;
const UUID4 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const UUID5 = /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i;
const HOST_LABEL = /^[\p{L}\p{S}0-9](?:[-\p{L}\p{S}0-9]{0,61}[\p{L}\p{S}0-9])?$/u;
const MAC = /^[0-9a-f]{2}(?:([:-])[0-9a-f]{2})(?:\1[0-9a-f]{2}){4}(?:(?:\1[0-9a-f]{2}){2})?$/i;
const DOTTED_MAC = /^[0-9a-f]{4}(?:\.[0-9a-f]{4}){2}(?:\.[0-9a-f]{4})?$/i;
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/;
const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;
const DATE_TIME = /^(\d{4}-\d\d-\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.\d+)?(?:[Zz]|[+-]\d\d:?\d\d)$/;
const LONG_DURATION =
  /^\d+\s*(?:ns|nanos?|nanoseconds?|us|µs|micros?|microseconds?|ms|millis?|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|w|weeks?)$/i;
const EMAIL = /^[^\s@<>()[\],;:\\"]+@[^\s@<>()[\],;:\\"]+$/;
const RGB = /^rgb\(\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)$/;
/** No text of these formats is as long; what is longer is not looked at. */
const LONGEST = 4096;

const isDate: FormatCheck = (text) => {
  const [, year, month, day] = DATE.exec(text) ?? [];
  const time = new Date(`${text}T00:00:00Z`);
  return (
    day !== undefined &&
    !Number.isNaN(time.getTime()) &&
    time.getUTCDate() === Number(day) &&
    time.getUTCMonth() + 1 === Number(month) &&
    year !== undefined
  );
};

const isDateTime: FormatCheck = (text) => {
  const [, date, hour, minute, second] = DATE_TIME.exec(text) ?? [];
  return (
    date !== undefined && isDate(date) && Number(hour) < 24 && Number(minute) < 60 && Number(second) < 60
  );
};

const isUri: FormatCheck = (text) =>
  (text.startsWith('/') || /^[A-Za-z][-A-Za-z0-9+.]*:./.test(text)) &&
  ![...text].some((character) => character < '!' || character === '\u007f');

const isHostname: FormatCheck = (text) =>
  text.length <= 253 && text.split('.').every((label) => HOST_LABEL.test(label));

const isIsbn10: FormatCheck = (text) => {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{9}[\dX]$/.test(digits)) return false;
  const sum = [...digits].reduce((all, one, at) => all + (one === 'X' ? 10 : Number(one)) * (10 - at), 0);
  return sum % 11 === 0;
};

const isIsbn13: FormatCheck = (text) => {
  const digits = text.replace(/[\s-]/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  return [...digits].reduce((all, one, at) => all + Number(one) * (at % 2 === 0 ? 1 : 3), 0) % 10 === 0;
};

const isCard: FormatCheck = (text) => {
  const digits = text.replace(/\D/g, '');
  return /^(?:4\d{12}(?:\d{3})?|5[1-5]\d{14}|6(?:011|5\d\d)\d{12}|3[47]\d{13}|3(?:0[0-5]|[68]\d)\d{11}|(?:2131|1800|35\d{3})\d{11})$/.test(
    digits,
  );
};

const isRgb: FormatCheck = (text) => {
  const parts = RGB.exec(text)?.slice(1);
  return parts?.every((part) => Number(part) <= 255) === true;
};

/** By name without dashes, as go-openapi has them. */
const CHECKS: ReadonlyMap<string, FormatCheck> = new Map<string, FormatCheck>([
  ['bsonobjectid', (text) => /^[0-9a-f]{24}$/i.test(text)],
  ['uri', isUri],
  ['email', (text) => EMAIL.test(text)],
  ['hostname', isHostname],
  ['ipv4', (text) => parseIp(text)?.family === 'IPv4'],
  ['ipv6', (text) => parseIp(text)?.family === 'IPv6'],
  ['cidr', (text) => parseCidr(text) !== undefined],
  ['mac', (text) => MAC.test(text) || DOTTED_MAC.test(text)],
  ['uuid', (text) => UUID.test(text)],
  ['uuid3', (text) => UUID3.test(text)],
  ['uuid4', (text) => UUID4.test(text)],
  ['uuid5', (text) => UUID5.test(text)],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCard],
  ['ssn', (text) => /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)],
  ['rgbcolor', isRgb],
  ['password', () => true],
  ['date', isDate],
  ['duration', (text) => isGoDuration(text) || LONG_DURATION.test(text)],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => dnsLabel(text).length === 0],
  ['k8slongname', (text) => dnsSubdomain(text).length === 0],
]);

/** Data may be as long as it likes. */
const isBase64: FormatCheck = (text) => {
  const data = text.replace(/[\r\n]/g, '');
  return data.length % 4 === 0 && BASE64.test(data);
};

/** What a string has to pass; undefined when the format says nothing. */
export function formatCheck(format: string): FormatCheck | undefined {
  const name = format.replaceAll('-', '');
  if (name === 'byte') return isBase64;
  const check = CHECKS.get(name);
  return check === undefined ? undefined : (text) => text.length <= LONGEST && check(text);
}
