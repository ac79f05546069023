// Formats of strings in JSON schemas; a name that is not known says nothing, as upstream.

const dateTime = /^\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(?:[Zz]|[+-]\d\d:\d\d)$/;
const ipv4 = /^(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)(?:\.(?!$)|$)){4}$/;
const ipv6 = /^(?=.*:)[0-9a-fA-F:]{2,}(?:(?::)?(?:\d{1,3}\.){3}\d{1,3})?$/;
const checks: Readonly<Record<string, (text: string) => boolean>> = Object.assign(Object.create(null), {
  'date-time': (t: string) => dateTime.test(t) && !Number.isNaN(Date.parse(t)),
  date: (t: string) => /^\d{4}-\d\d-\d\d$/.test(t) && !Number.isNaN(Date.parse(t)),
  byte: (t: string) => /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/.test(t),
  uuid: (t: string) => /^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$/i.test(t),
  ipv4: (t: string) => ipv4.test(t),
  ipv6: (t: string) => ipv6.test(t),
  cidr: (t: string) => {
    const at = t.lastIndexOf('/');
    const bits = t.slice(at + 1);
    return at > 0 && /^\d{1,3}$/.test(bits) && (ipv4.test(t.slice(0, at)) || ipv6.test(t.slice(0, at)));
  },
  email: (t: string) => /^[^\s@]+@[^\s@]+$/.test(t),
  hostname: (t: string) => t.length <= 255 && /^[a-zA-Z0-9]([a-zA-Z0-9-.]*[a-zA-Z0-9])?$/.test(t),
  uri: (t: string) => /^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|\/)\S*$/.test(t),
  duration: (t: string) =>
    /^(?:[+-]?(?:\d+(?:\.\d*)?|\.\d+)\s?(?:ns|us|\u00b5s|ms|s|m|h|d|w)\s?)+$|^0$/.test(t),
  mac: (t: string) => /^(?:[0-9a-fA-F]{2}[:-]){5}[0-9a-fA-F]{2}$/.test(t),
});

export const hasFormat = (text: string, format: string): boolean => checks[format]?.(text) ?? true;
