// Subject alternative names: DNS names, addresses, mail addresses and URIs; other kinds are refused where they are read.
import { parseIpv4 } from '../base/ipv4.ts';
import { childrenOf, DerError, derTag, ia5Of, readDer } from './der.ts';

export interface AlternativeNames {
  readonly dnsNames: readonly string[];
  /** In their shortest form. */
  readonly ips: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

export const noNames: AlternativeNames = { dnsNames: [], ips: [], emails: [], uris: [] };

const tag = { email: 0x81, dns: 0x82, uri: 0x86, ip: 0x87 } as const;

/** One text for one address: an address has several forms, and names are compared as text. */
export function canonicalIp(text: string): string {
  if (parseIpv4(text) !== undefined) return text;
  const url = /^[0-9a-fA-F:.]+$/.test(text) ? URL.parse(`http://[${text}]`) : null;
  if (url === null) throw new Error(`x509: ${JSON.stringify(text)} is no IP address`);
  return url.hostname.slice(1, -1);
}

const mapped = /^::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})$/;

/** For comparing what people wrote: the address in its shortest form, an IPv4 address in IPv6's clothes as itself, and what is none as it is. */
export function comparableIp(text: string): string {
  if (URL.parse(`http://[${text}]`) === null) return text;
  const ip = canonicalIp(text);
  const halves = mapped
    .exec(ip)
    ?.slice(1)
    .map((half) => Number.parseInt(half, 16));
  return halves === undefined ? ip : halves.flatMap((half) => [half >> 8, half & 255]).join('.');
}

function addressOf(bytes: Uint8Array): string {
  if (bytes.length === 4) return bytes.join('.');
  if (bytes.length !== 16)
    throw new DerError(`x509: cannot parse IP address of length ${bytes.length} in the SAN extension`);
  const hex = Buffer.from(bytes).toString('hex');
  return canonicalIp(hex.match(/.{4}/g)!.join(':'));
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

const same = (a: readonly string[], b: readonly string[]): boolean =>
  a.length === b.length && a.every((value, i) => value === b[i]);

export const sameNames = (a: AlternativeNames, b: AlternativeNames): boolean =>
  same(a.dnsNames, b.dnsNames) && same(a.ips, b.ips) && same(a.emails, b.emails) && same(a.uris, b.uris);
