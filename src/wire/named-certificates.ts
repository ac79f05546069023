// Which of several certificates a client is served, by the name that it asks for or the address that it came to: as Go's tls chooses.
import { certificateFacts } from '../crypto/subject.ts';

export interface NamedCertificate {
  readonly key: string;
  readonly cert: string;
  /** Empty: those that the certificate has. */
  readonly names: readonly string[];
}

const label = /^(?!-)[a-z0-9-]{1,63}(?<!-)$/;
const isDomain = (name: string): boolean =>
  name === '*' ||
  name
    .replace(/^\*\./, '')
    .split('.')
    .every((part) => label.test(part));
const isAddress = /^[0-9.]+$|:/;

/** Addresses of a certificate are left out: a client asks for none by name. */
function ownNames(cert: string): string[] {
  const { subject, names } = certificateFacts(cert);
  const { CN = '' } = subject;
  return [...(isAddress.test(CN) || !isDomain(CN) ? [] : [CN]), ...names.dnsNames];
}

const wildcardOf = (name: string): string => ['*', ...name.split('.').slice(1)].join('.');

const serves = (cert: string, name: string): boolean => {
  const names = certificateFacts(cert).names.dnsNames.map((one) => one.toLowerCase());
  return names.includes(name) || names.includes(wildcardOf(name));
};

/** Earlier ones go before later ones, names that were given before those of certificates. */
export class NamedCertificates {
  readonly #byName = new Map<string, NamedCertificate>();
  readonly #usual: string;
  readonly #all: readonly NamedCertificate[];

  /** `usual`: whom nobody else is served. */
  constructor(usual: string, all: readonly NamedCertificate[]) {
    this.#usual = usual;
    this.#all = all;
    const given = all.filter(({ names }) => names.length > 0);
    const found = all.filter(({ names }) => names.length === 0);
    for (const one of found.toReversed()) for (const name of ownNames(one.cert)) this.#byName.set(name, one);
    for (const one of given.toReversed()) for (const name of one.names) this.#byName.set(name, one);
  }

  /** undefined: the usual one. */
  ofName(asked: string): NamedCertificate | undefined {
    const name = asked.toLowerCase().replace(/\.$/, '');
    const found = this.#byName.get(name) ?? this.#byName.get(wildcardOf(name));
    if (found !== undefined || serves(this.#usual, name)) return found;
    return this.#all.find(({ cert }) => serves(cert, name));
  }

  /** Of those who ask for no name. */
  ofAddress(address: string): NamedCertificate | undefined {
    return this.#byName.get(address.replace(/^::ffff:/, ''));
  }
}
