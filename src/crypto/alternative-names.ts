// Subject alternative names: DNS names, addresses, mail addresses and URIs; other kinds are refused where they are read.
import { formatIp, parseIp, unmapped } from '../base/ip.ts';
import { childrenOf, DerError, derTag, ia5Of, readDer } from './der.ts';
import { der, ia5Bytes } from './der-writer.ts';

export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  /** In their shortest form. */
  readonly ips: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

export const noNames: AlternativeNames = { dnsNames: [], ips: [], emails: [], uris: [] };

const tag = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;

/** One text for one address: an address has several forms, and names are compared as text. Go, too, writes an IPv4 address as one. */
export function shortestIp(text: string): string {
  const ip = parseIp(text);
  if (ip === undefined || ip.zone !== undefined)
    throw new Error(`x509: ${JSON.stringify(text)} is no IP address`);
  return formatIp(unmapped(ip));
}

function addressOf(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16)
    throw new DerError(`x509: cannot parse IP address of length ${bytes.length} in the SAN extension`);
  const value = BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
  return formatIp(unmapped({ family: 6, value }));
}

/** What the value of a SAN extension says. */
export function readAlternativeNames(extension: Uint8Array): AlternativeNames {
  const sequence = readDer(extension, derTag.sequence);
  const names = {
    dnsNames: [] as string[],
    ips: [] as string[],
    emails: [] as string[],
    uris: [] as string[],
  };
  for (const name of childrenOf(sequence)) {
    switch (name.tag) {
      case tag.dns:
        names.dnsNames.push(ia5Of(name.content));
        break;
      case tag.email:
        names.emails.push(ia5Of(name.content));
        break;
      case tag.uri:
        names.uris.push(ia5Of(name.content));
        break;
      case tag.ip:
        names.ips.push(addressOf(name.content));
        break;
      default:
        throw new DerError(
          'x509: only DNS names, IP addresses, email addresses and URIs can be subject alternative names',
        );
    }
  }
  return names;
}

function addressBytes(text: string): Buffer {
  const { family, value } = parseIp(shortestIp(text))!;
  return Buffer.from(value.toString(16).padStart(family === 4 ? 8 : 32, '0'), 'hex');
}

/** The value of a SAN extension. The names' bytes, which nothing interprets. Throws for what is no address, or beyond ASCII. */
export const writeAlternativeNames = ({ dnsNames, emails, ips, uris }: AlternativeNames): Buffer =>
  der(
    derTag.sequence,
    ...dnsNames.map((name) => der(tag.dns, ia5Bytes(name))),
    ...emails.map((name) => der(tag.email, ia5Bytes(name))),
    ...ips.map((name) => der(tag.ip, addressBytes(name))),
    ...uris.map((name) => der(tag.uri, ia5Bytes(name))),
  );

export const hasNames = ({ dnsNames, emails, ips, uris }: AlternativeNames): boolean =>
  dnsNames.length + emails.length + ips.length + uris.length > 0;

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

export const sameNames = (a: AlternativeNames, b: AlternativeNames): boolean =>
  same(a.dnsNames, b.dnsNames) && same(a.ips, b.ips) && same(a.emails, b.emails) && same(a.uris, b.uris);
