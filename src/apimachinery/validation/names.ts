// Rules for names, keys and ports: each answers why a text is wrong, in upstream's words; empty when it is right.
import { dns1123SubdomainErrors, isLonger } from '../labels.ts';

export type NameRule = (name: string) => string[];

const rule = (message: string, format: string, ...examples: string[]): string =>
  `${message} (e.g. ${examples.map((e) => `'${e}'`).join(',  or ')}, regex used for validation is '${format}')`;
const tooLong = (max: number): string => `must be no more than ${max} characters`;

export const dnsSubdomain: NameRule = dns1123SubdomainErrors;

export const wildcardSubdomain: NameRule = (name) => {
  const errors = isLonger(name, 253) ? [tooLong(253)] : [];
  if (!name.startsWith('*.') || dnsSubdomain(name.slice(2)).length > 0)
    errors.push(
      rule(
        "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric character",
        '\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*',
        '*.example.com',
      ),
    );
  return errors;
};

const isLabel = (name: string): boolean => /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?$/.test(name);

export const dnsLabel: NameRule = (name) => {
  const errors = isLonger(name, 63) ? [tooLong(63)] : [];
  if (name.length <= 4096 && isLabel(name)) return errors;
  if (name.length <= 4096 && name.split('.').every(isLabel)) return [...errors, 'must not contain dots'];
  return [
    ...errors,
    rule(
      "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character",
      '[a-z0-9]([-a-z0-9]*[a-z0-9])?',
      'my-name',
      '123-abc',
    ),
  ];
};

export const dns1035Label: NameRule = (name) => {
  const errors = isLonger(name, 63) ? [tooLong(63)] : [];
  if (name.length > 4096 || !/^[a-z](?:[-a-z0-9]*[a-z0-9])?$/.test(name))
    errors.push(
      rule(
        "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character",
        '[a-z]([-a-z0-9]*[a-z0-9])?',
        'my-name',
        'abc-123',
      ),
    );
  return errors;
};

/** Anything that can stand between two slashes of a path: names of roles and the like. */
export const pathSegment: NameRule = (name) => {
  if (name === '.' || name === '..') return [`may not be '${name}'`];
  return ['/', '%'].filter((c) => name.includes(c)).map((c) => `may not contain '${c}'`);
};

export const configMapKey: NameRule = (key) => {
  const errors = isLonger(key, 253) ? [tooLong(253)] : [];
  if (!/^[-._a-zA-Z0-9]+$/.test(key))
    errors.push(
      rule(
        "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
        '[-._a-zA-Z0-9]+',
        'key.name',
        'KEY_NAME',
        'key-name',
      ),
    );
  if (key === '.') errors.push("must not be '.'");
  if (key === '..') errors.push("must not be '..'");
  else if (key.startsWith('..')) errors.push("must not start with '..'");
  return errors;
};

export const envVarName: NameRule = (name) =>
  /^[ -<>-~]+$/.test(name)
    ? []
    : ["a valid environment variable name must consist only of printable ASCII characters other than '='"];

export const portName: NameRule = (name) => {
  const errors: string[] = [];
  if (isLonger(name, 15)) errors.push(tooLong(15));
  if (!/^[-a-z0-9]+$/.test(name))
    errors.push('must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)');
  if (!/[a-z]/.test(name)) errors.push('must contain at least one letter (a-z)');
  if (name.includes('--')) errors.push('must not contain consecutive hyphens');
  if (name.startsWith('-') || name.endsWith('-')) errors.push('must not begin or end with a hyphen');
  return errors;
};

export const portRange = 'must be between 1 and 65535, inclusive';
export const isPort = (value: unknown): boolean =>
  typeof value === 'number' && Number.isInteger(value) && value >= 1 && value <= 65535;
