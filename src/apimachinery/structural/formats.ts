// Formats of strings in JSON schemas; a name that is not known says nothing, as upstream.
import { type IpFamily, parseCidr, parseIp } from '../../base/ip.ts';

const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
/** Upstream reads these formats as Go once did: zeros before a number mean nothing. */
const withoutLeadingZeros = (text: string): string => text.replace(/(^|[.:/])0+(?=\d)/g, '$1');
const isOfFamily = (text: string, family: IpFamily): boolean => {
  const ip = parseIp(withoutLeadingZeros(text));
  return ip?.family === family && ip.zone === undefined;
};
const checks: Readonly<Record<string, (text: string) => boolean>> = Object.assign(Object.create(null), {
  'date-time': (t: string) => dateTime.test(t) && !Number.isNaN(Date.parse(t)),
  date: (t: string) => /^\d{4}-\d\d-\d\d$/.test(t) && !Number.isNaN(Date.parse(t)),
  byte: (t: string) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(t),
  uuid: (t: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(t),
  ipv4: (t: string) => isOfFamily(t, 4),
  ipv6: (t: string) => isOfFamily(t, 6),
  cidr: (t: string) => parseCidr(withoutLeadingZeros(t)) !== undefined,
  email: (t: string) => /^[^\s@]+@[^\s@]+$/.test(t),
  hostname: (t: string) => t.length <= 255 && /^[a-zA-Z0-9]([a-zA-Z0-9-.]*[a-zA-Z0-9])?$/.test(t),
  uri: (t: string) => /^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|\/)\S*$/.test(t),
  duration: (t: string) =>
    /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)\s?(?:ns|us|\u00b5s|ms|s|m|h|d|w)\s?)+$|^0$/.test(t),
  mac: (t: string) => /^(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$/.test(t),
});

export const hasFormat = (text: string, format: string): boolean => checks[format]?.(text) ?? true;
