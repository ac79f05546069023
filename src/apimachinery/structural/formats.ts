// Formats of strings in JSON schemas; a name that is not known says nothing, as upstream.
import { type IpFamily, parseCidr, parseIp } from '../../base/ip.ts';

const dateTime = /^\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
/** Upstream reads these formats as Go once did: zeros before a number mean nothing. */
const withoutLeadingZeros = (text: string): string => text.replace(/(^|[.:/])0+(?=\d)/g, '$1');
const isOfFamily = (text: string, family: IpFamily): boolean => {
  const ip = parseIp(withoutLeadingZeros(text));
  return ip?.family === family && ip.zone === undefined;
};
const shortName = '[a-z0-9](?:[-a-z0-9]*[a-z0-9])?';
const isShortName = new RegExp(`^${shortName}$`);
const isLongName = new RegExp(`^${shortName}(?:\\.${shortName})*$`);
const colour = '\\s*(?:0|[1-9]\\d?|1\\d\\d?|2[0-4]\\d|25[0-5])\\s*';
const isRgb = new RegExp(`^rgb\\(${colour},${colour},${colour}\\)$`);
/** As upstream, the last part of a name with dots has no digits, and one without dots hardly a dash. */
const host =
  /^(?:[a-zA-Z0-9\p{S}\p{L}](?:-?[a-zA-Z0-9\p{S}\p{L}]{0,62})?|(?:[a-zA-Z0-9\p{S}\p{L}](?:[-a-zA-Z0-9\p{S}\p{L}]{0,61}[a-zA-Z0-9\p{S}\p{L}])?\.)+[a-zA-Z\p{L}]{2,63})$/u;
const macGroups =
  /^(?:[0-9a-fA-F]{2}([:-])(?:[0-9a-fA-F]{2}\1)*[0-9a-fA-F]{2}|[0-9a-fA-F]{4}(?:\.[0-9a-fA-F]{4})+)$/;
const isMac = (text: string): boolean =>
  macGroups.test(text) && [6, 8, 20].includes(text.replace(/[:.-]/g, '').length / 2);

function isIsbn(text: string, length: 10 | 13): boolean {
  const digits = text.replace(/[\s-]+/g, '');
  if (!(length === 10 ? /^[0-9]{9}[0-9X]$/ : /^[0-9]{13}$/).test(digits)) return false;
  const valueAt = (i: number): number => (digits[i] === 'X' ? 10 : Number(digits[i]));
  let sum = 0;
  for (let i = 0; i < length; i++) sum += valueAt(i) * (length === 10 ? i + 1 : i % 2 === 0 ? 1 : 3);
  return sum % (length === 10 ? 11 : 10) === 0;
}

const card =
  /^(?:4[0-9]{12}(?:[0-9]{3})?|5[1-5][0-9]{14}|6(?:011|5[0-9][0-9])[0-9]{12}|3[47][0-9]{13}|3(?:0[0-5]|[68][0-9])[0-9]{11}|(?:2131|1800|35[0-9]{3})[0-9]{11})$/;
function isCard(text: string): boolean {
  const digits = text.replace(/[^0-9]+/g, '');
  if (!card.test(digits)) return false;
  let sum = 0;
  for (let i = 0; i < digits.length; i++) {
    const digit = Number(digits[digits.length - 1 - i]) * (i % 2 === 0 ? 1 : 2);
    sum += digit > 9 ? digit - 9 : digit;
  }
  return sum % 10 === 0;
}

const goDuration = /^[+-]?(?:0|(?:(?:\d+(?:\.\d*)?|\.\d+)(?:ns|[u\u00b5\u03bc]s|ms|s|m|h))+)$/;
const amount = /(?<!\d)\d+\s*([A-Za-z\u00b5]+)/g;
/** The last of a unit may go on: `seconds`. */
const unit = /^(?:ns|us|\u00b5s|ms|s|m|h|hr|d|w|wk|nano.*|micro.*|milli.*|sec.*|min.*|hour.*|day.*|week.*)$/i;
/** As upstream: what Go reads, or a text that says an amount somewhere. */
const isDuration = (text: string): boolean =>
  goDuration.test(text) || [...text.matchAll(amount)].some(([, word]) => unit.test(word!));

/** By their names without dashes, as upstream looks them up. */
const checks: Readonly<Record<string, (text: string) => boolean>> = Object.assign(Object.create(null), {
  bsonobjectid: (t: string) => /^[0-9a-fA-F]{24}$/.test(t),
  byte: (t: string) => t !== '' && /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(t),
  cidr: (t: string) => parseCidr(withoutLeadingZeros(t)) !== undefined,
  creditcard: isCard,
  date: (t: string) => /^\d{4}-\d\d-\d\d$/.test(t) && !Number.isNaN(Date.parse(t)),
  datetime: (t: string) => dateTime.test(t) && !Number.isNaN(Date.parse(t)),
  duration: isDuration,
  email: (t: string) => /^[^\s@]+@[^\s@]+$/.test(t),
  hexcolor: (t: string) => /^#?(?:[0-9a-fA-F]{3}|[0-9a-fA-F]{6})$/.test(t),
  hostname: (t: string) => t.length <= 255 && host.test(t) && t.split('.').every((part) => part.length <= 63),
  ipv4: (t: string) => isOfFamily(t, 4),
  ipv6: (t: string) => isOfFamily(t, 6),
  isbn: (t: string) => isIsbn(t, 10) || isIsbn(t, 13),
  isbn10: (t: string) => isIsbn(t, 10),
  isbn13: (t: string) => isIsbn(t, 13),
  k8slongname: (t: string) => t.length <= 253 && isLongName.test(t),
  k8sshortname: (t: string) => t.length <= 63 && isShortName.test(t),
  mac: isMac,
  password: () => true,
  rgbcolor: (t: string) => isRgb.test(t),
  ssn: (t: string) => t.length === 11 && /^\d{3}[- ]?\d{2}[- ]?\d{4}$/.test(t),
  uri: (t: string) => /^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|\/)\S*$/.test(t),
  uuid: (t: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(t),
  uuid3: (t: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?3[0-9a-f]{3}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(t),
  uuid4: (t: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?4[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(t),
  uuid5: (t: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?5[0-9a-f]{3}-?[89ab][0-9a-f]{3}-?[0-9a-f]{12}$/i.test(t),
});
const ofNumbers: Readonly<Record<string, readonly string[]>> = {
  integer: ['int32', 'int64'],
  number: ['double', 'float'],
};

const checkOf = (format: string): ((text: string) => boolean) | undefined =>
  checks[format.replaceAll('-', '')];

export const hasFormat = (text: string, format: string): boolean => checkOf(format)?.(text) ?? true;

/** Whether a format says anything of values of this type; no type is that of a string. */
export const isKnownFormat = (format: string, type: string): boolean =>
  type === '' || type === 'string'
    ? checkOf(format) !== undefined
    : Object.hasOwn(ofNumbers, type) && ofNumbers[type]!.includes(format);
