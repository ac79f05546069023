// Formats in JSON schemas, as upstream's validator reads them; a name that is not known says nothing.
import { type IpFamily, parseCidr, parseIp } from '../../base/ip.ts';
import { parseRequestUrl } from '../../base/request-url.ts';
import { dnsLabel, dnsSubdomain } from '../validation/names.ts';

type Check = (text: string) => boolean;

/** Upstream reads these formats as Go once did: zeros before a number mean nothing. */
const withoutLeadingZeros = (text: string): string => text.replace(/(^|[.:/])0+(?=\d)/g, '$1');
const isOfFamily = (text: string, family: IpFamily): boolean => {
  const ip = parseIp(family === 4 ? withoutLeadingZeros(text) : text);
  return ip !== undefined && ip.zone === undefined && text.includes(family === 4 ? '.' : ':');
};

function isDate(text: string): boolean {
  const [, year, month, day] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  if (year === undefined) return false;
  const m = Number(month);
  const isLeap = Number(year) % 4 === 0 && (Number(year) % 100 !== 0 || Number(year) % 400 === 0);
  const days = m === 2 ? (isLeap ? 29 : 28) : [4, 6, 9, 11].includes(m) ? 30 : 31;
  return m >= 1 && m <= 12 && Number(day) >= 1 && Number(day) <= days;
}
function isDateTime(text: string): boolean {
  const [date = '', time = ''] = text.toLowerCase().split('t');
  const [, hour, minute, second] = /^(\d\d):(\d\d):(\d\d)(?:.\d+)?(?:z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  return hour !== undefined && isDate(date) && hour <= '23' && minute! <= '59' && second! <= '59';
}

const goDuration = /^[+-]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:[nuµμm]?s|[mh]))+$|^[+-]?0$/;
/** As Go reads them, or as Scala does: somewhere a number with a unit. */
const isDuration: Check = (text) =>
  goDuration.test(text) ||
  text
    .matchAll(/\d\s*([A-Za-zµ]+)/g)
    .some(([, unit = '']) =>
      /^(?:[num]s|µs|[smhdw]|hr|wk|(?:nano|micro|milli|sec|min|hour|day|week).*)$/i.test(unit),
    );

/** Of one label, and of the last of several, which has letters alone. */
const onlyLabel = /^[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?$/u;
const label = /^[a-zA-Z0-9\p{S}\p{L}](?:[a-zA-Z0-9\-\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?$/u;
const lastLabel = /^[a-zA-Z\p{L}]{2,63}$/u;
const bytesOf = (text: string): number => new TextEncoder().encode(text).length;
function isHostname(text: string): boolean {
  if (text.length > 255 || bytesOf(text) > 255) return false;
  const labels = text.split('.');
  if (labels.some((one) => bytesOf(one) > 63)) return false;
  if (labels.length === 1) return onlyLabel.test(text);
  return lastLabel.test(labels.pop()!) && labels.every((one) => label.test(one));
}

const special = '\\s()<>[\\]:;@\\\\,"\\x00-\\x1f\\x7f';
const word = `[^.${special}]+`;
const dotted = `${word}(?:\\.${word})*`;
const quoted = '"(?:[^"\\\\\\x00-\\x1f]|\\\\.)*"';
const address = `(?:${dotted}|${quoted})@(?:${dotted}|\\[[^\\]\\s]*\\])`;
/** An address, with or without a name before it. Each step takes one character: nothing is tried twice. */
const phrase = `(?:${quoted}|\\s|[^${special}])*`;
const email = new RegExp(`^(?:\\s*${address}|${phrase}<${address}>)\\s*(?:\\([^()]*\\)\\s*)?$`);

const isIsbn10: Check = (text) => {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^(?:\d{9}X|\d{10})$/.test(digits)) return false;
  const sum = [...digits].reduce((all, digit, i) => all + (i + 1) * (digit === 'X' ? 10 : Number(digit)), 0);
  return sum % 11 === 0;
};
const isIsbn13: Check = (text) => {
  const digits = text.replace(/[\s-]+/g, '');
  if (!/^\d{13}$/.test(digits)) return false;
  const sum = [...digits].reduce((all, digit, i) => all + (i % 2 === 0 ? 1 : 3) * Number(digit), 0);
  return sum % 10 === 0;
};

const creditCard =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35\d{3})\d{11})$/;
const isCreditCard: Check = (text) => {
  const digits = text.replace(/[^0-9]+/g, '');
  if (!creditCard.test(digits)) return false;
  const sum = [...digits].reverse().reduce((all, digit, i) => {
    const twice = i % 2 === 0 ? Number(digit) : Number(digit) * 2;
    return all + (twice > 9 ? twice - 9 : twice);
  }, 0);
  return sum % 10 === 0;
};

const uuid = (third: string, fourth: string): Check => {
  const pattern = new RegExp(`^[0-9a-f]{8}-?[0-9a-f]{4}-?${third}-?${fourth}-?[0-9a-f]{12}$`, 'i');
  return (text) => pattern.test(text);
};
const four = '[0-9a-f]{4}';
const color = '(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])';
const rgb = new RegExp(`^rgb\\(\\s*${color}\\s*,\\s*${color}\\s*,\\s*${color}\\s*\\)$`);
const mac =
  /^(?:[0-9a-f]{2}([:-]))(?:[0-9a-f]{2}\1){4}(?:(?:[0-9a-f]{2}\1){2}|(?:[0-9a-f]{2}\1){14})?[0-9a-f]{2}$|^(?:[0-9a-f]{4}\.){2}(?:[0-9a-f]{4}\.|(?:[0-9a-f]{4}\.){7})?[0-9a-f]{4}$/i;

/** By names without dashes, which mean nothing. */
const checks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['bsonobjectid', (text) => /^[0-9a-f]{24}$/i.test(text)],
  ['uri', (text) => typeof parseRequestUrl(text) !== 'string'],
  ['email', (text) => text.length <= 4096 && email.test(text)],
  ['hostname', isHostname],
  ['ipv4', (text) => isOfFamily(text, 4)],
  ['ipv6', (text) => isOfFamily(text, 6)],
  ['cidr', (text) => parseCidr(withoutLeadingZeros(text)) !== undefined],
  ['mac', (text) => mac.test(text)],
  ['uuid', uuid(four, four)],
  ['uuid3', uuid('3[0-9a-f]{3}', four)],
  ['uuid4', uuid('4[0-9a-f]{3}', '[89ab][0-9a-f]{3}')],
  ['uuid5', uuid('5[0-9a-f]{3}', '[89ab][0-9a-f]{3}')],
  ['isbn', (text) => isIsbn10(text) || isIsbn13(text)],
  ['isbn10', isIsbn10],
  ['isbn13', isIsbn13],
  ['creditcard', isCreditCard],
  ['ssn', (text) => text.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(text)],
  ['hexcolor', (text) => /^#?(?:[0-9a-f]{3}|[0-9a-f]{6})$/i.test(text)],
  ['rgbcolor', (text) => rgb.test(text)],
  [
    'byte',
    (text) => text !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(text),
  ],
  ['password', () => true],
  ['date', isDate],
  ['duration', isDuration],
  ['datetime', isDateTime],
  ['k8sshortname', (text) => dnsLabel(text).length === 0],
  ['k8slongname', (text) => dnsSubdomain(text).length === 0],
]);

const checkOf = (format: string): Check | undefined => checks.get(format.replaceAll('-', ''));

export const hasFormat = (text: string, format: string): boolean => checkOf(format)?.(text) ?? true;

const numberFormats: ReadonlyMap<string, readonly string[]> = new Map([
  ['integer', ['int32', 'int64']],
  ['number', ['float', 'double']],
]);

/** '' where the format is none of the type's. `type`: what a schema says, or several between commas. */
export function formatFor(type: string, format: string): string {
  if (format === '') return '';
  if (type === '' || type === 'string' || type.includes(',')) return checkOf(format) ? format : '';
  return numberFormats.get(type)?.includes(format) === true ? format : '';
}

/** Whether a format says anything of values of this type. */
export const isKnownFormat = (format: string, type: string): boolean => formatFor(type, format) !== '';
