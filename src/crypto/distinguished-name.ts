// Distinguished names as typed values: attribute by attribute, never one string that somebody would interpret.
import { childAt, childrenOf, DerError, type DerValue, derTag, oidOf, textOfDer } from './der.ts';
import { der, derOid, derText } from './der-writer.ts';

export interface NameAttribute {
  /** `2.5.4.3`. */
  readonly type: string;
  readonly value: string;
}

const oid = {
  commonName: '2.5.4.3',
  organization: '2.5.4.10',
  /** Kubernetes' own: who of those that had or will have the name. */
  uid: '1.3.6.1.4.1.57683.2',
} as const;
/** The attributes that a signed certificate keeps of a request, in the order in which Go writes them. */
const kept: readonly string[] = [
  '2.5.4.6', // country
  oid.organization,
  '2.5.4.11', // organizational unit
  '2.5.4.7', // locality
  '2.5.4.8', // province
  '2.5.4.9', // street address
  '2.5.4.17', // postal code
  oid.commonName,
  '2.5.4.5', // serial number
];
/** One of these is in a name; of several the last one counts. */
const single: readonly string[] = [oid.commonName, '2.5.4.5'];

/** All attributes of an RDNSequence in order, those of multi-valued parts one after the other. */
export function readName(name: DerValue): NameAttribute[] {
  return childrenOf(name).flatMap((part) => {
    if (part.tag !== derTag.set) throw new DerError('x509: invalid RDNSequence');
    return childrenOf(part).map((attribute) => {
      const pair = childrenOf(attribute);
      const value = pair[1];
      if (attribute.tag !== derTag.sequence || pair.length !== 2 || value === undefined)
        throw new DerError('x509: invalid RDNSequence: invalid attribute');
      return { type: oidOf(childAt(pair, 0, derTag.oid)), value: textOfDer(value) };
    });
  });
}

const valuesOf = (name: readonly NameAttribute[], type: string): string[] =>
  name.filter((attribute) => attribute.type === type).map(({ value }) => value);

/** As Go: the last common name is the common name. */
export const commonNameOf = (name: readonly NameAttribute[]): string | undefined =>
  valuesOf(name, oid.commonName).at(-1);

export const organizationsOf = (name: readonly NameAttribute[]): string[] => valuesOf(name, oid.organization);

export const uidsOf = (name: readonly NameAttribute[]): string[] => valuesOf(name, oid.uid);

/** A name of groups and a user, as Go writes it. */
export const subjectOf = (commonName: string, organizations: readonly string[] = []): NameAttribute[] => [
  ...organizations.map((value) => ({ type: oid.organization, value })),
  { type: oid.commonName, value: commonName },
];

/** What a signer keeps of the name that was asked for. */
export const signableName = (asked: readonly NameAttribute[]): NameAttribute[] =>
  kept.flatMap((type) => {
    const values = valuesOf(asked, type);
    return (single.includes(type) ? values.slice(-1) : values).map((value) => ({ type, value }));
  });

/** Each value with its own type, so that nothing in it is syntax; each attribute a part of its own. */
export const writeName = (name: readonly NameAttribute[]): Buffer =>
  der(
    derTag.sequence,
    ...name.map(({ type, value }) => der(derTag.set, der(derTag.sequence, derOid(type), derText(value)))),
  );

export const sameName = (a: readonly NameAttribute[], b: readonly NameAttribute[]): boolean =>
  a.length === b.length &&
  a.every((attribute, i) => attribute.type === b[i]?.type && attribute.value === b[i]?.value);
