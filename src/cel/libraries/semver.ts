// Kubernetes' semver library: versions after semver.org, compared by precedence.
import { boolType, type CelType, intType, stringType, structType } from '../cel-type.ts';
import type { FunctionDeclaration, Library } from '../declarations.ts';
import { fixed } from '../estimate.ts';
import { nominal, readingCosts } from '../library-costs.ts';
import { CelError, Opaque, type Value } from '../value.ts';
import { comparisonsOf } from './comparisons.ts';

const semverType = structType('kubernetes.Semver');

class SemverValue extends Opaque {
  readonly type: CelType = semverType;
  readonly numbers: readonly [major: bigint, minor: bigint, patch: bigint];
  readonly prerelease: readonly (bigint | string)[];

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: readonly (bigint | string)[]) {
    super();
    this.numbers = numbers;
    this.prerelease = prerelease;
  }
  equalTo(other: Value): boolean {
    return other instanceof SemverValue && compare(this, other) === 0;
  }
}

const order = <T>(a: T, b: T): -1 | 0 | 1 => (a < b ? -1 : a > b ? 1 : 0);

/** What is built from it says nothing; a version with a prerelease is before the one without. */
function compare(a: SemverValue, b: SemverValue): -1 | 0 | 1 {
  for (let i = 0; i < 3; i++) {
    const found = order(a.numbers[i]!, b.numbers[i]!);
    if (found !== 0) return found;
  }
  const [x, y] = [a.prerelease, b.prerelease];
  if (x.length === 0 || y.length === 0) return order(Number(x.length === 0), Number(y.length === 0));
  for (let i = 0; i < Math.min(x.length, y.length); i++) {
    const found = comparePart(x[i]!, y[i]!);
    if (found !== 0) return found;
  }
  return order(x.length, y.length);
}
/** Numbers are before words. */
function comparePart(a: bigint | string, b: bigint | string): -1 | 0 | 1 {
  if (typeof a !== typeof b) return typeof a === 'bigint' ? -1 : 1;
  return order(a, b);
}

const mostUint = 2n ** 64n - 1n;
function numeric(text: string, name: string): bigint {
  if (!/^\d+$/.test(text)) throw new Error(`Invalid character(s) found in ${name} number "${text}"`);
  if (text.length > 1 && text.startsWith('0'))
    throw new Error(
      `${name[0]!.toUpperCase()}${name.slice(1)} number must not contain leading zeroes "${text}"`,
    );
  const value = BigInt(text);
  if (value > mostUint) throw new Error(`strconv.ParseUint: parsing "${text}": value out of range`);
  return value;
}

function prereleasePart(text: string): bigint | string {
  if (text === '') throw new Error('Prerelease is empty');
  if (/^\d+$/.test(text)) {
    if (text.length > 1 && text.startsWith('0'))
      throw new Error(`Numeric PreRelease version must not contain leading zeroes "${text}"`);
    return BigInt(text);
  }
  if (!/^[0-9A-Za-z-]+$/.test(text)) throw new Error(`Invalid character(s) found in prerelease "${text}"`);
  return text;
}

/** Throws in the words of the library that upstream reads versions with. */
export function parseSemver(text: string): SemverValue {
  if (text === '') throw new Error('Version string empty');
  const parts = text.split('.');
  if (parts.length < 3) throw new Error('No Major.Minor.Patch elements found');
  const major = numeric(parts[0]!, 'major');
  const minor = numeric(parts[1]!, 'minor');
  const rest = parts.slice(2).join('.');
  const plus = rest.indexOf('+');
  const build = plus === -1 ? undefined : rest.slice(plus + 1).split('.');
  const before = plus === -1 ? rest : rest.slice(0, plus);
  const dash = before.indexOf('-');
  const prerelease =
    dash === -1
      ? []
      : before
          .slice(dash + 1)
          .split('.')
          .map(prereleasePart);
  for (const part of build ?? []) {
    if (part === '') throw new Error('Build meta data is empty');
    if (!/^[0-9A-Za-z-]+$/.test(part))
      throw new Error(`Invalid character(s) found in build meta data "${part}"`);
  }
  const patch = numeric(dash === -1 ? before : before.slice(0, dash), 'patch');
  return new SemverValue([major, minor, patch], prerelease);
}

/** `v1.02` is `1.2.0`. */
function normalized(text: string): string {
  const [first = '', second, ...more] = (text.startsWith('v') ? text.slice(1) : text).split('.');
  const parts = [
    first,
    ...(second === undefined ? [] : [second]),
    ...(more.length > 0 ? [more.join('.')] : []),
  ];
  const short = parts.map((part) => {
    if (part.length <= 1) return part;
    const stripped = part.replace(/^0+/, '');
    return /^[0-9]/.test(stripped) ? stripped : `0${stripped}`;
  });
  if (short.length < 3 && /[+-]/.test(short.at(-1)!))
    throw new Error('short version cannot contain PreRelease/Build meta data');
  while (short.length < 3) short.push('0');
  return short.join('.');
}

function semverValue(text: string, normalize: boolean = false): SemverValue | CelError {
  try {
    return parseSemver(normalize ? normalized(text) : text);
  } catch (error) {
    return new CelError(error instanceof Error ? error.message : String(error));
  }
}
const isSemver = (text: string, normalize: boolean = false): boolean =>
  semverValue(text, normalize) instanceof SemverValue;

const part = (name: string, index: 0 | 1 | 2): FunctionDeclaration => ({
  name,
  overloads: [
    {
      id: `semver_${name}`,
      member: true,
      params: [semverType],
      result: intType,
      call: ({ numbers }: SemverValue) => BigInt.asIntN(64, numbers[index]),
    },
  ],
  ...nominal,
});
const reading = (
  name: string,
  ids: readonly [string, string],
  result: CelType,
  call: (text: string, normalize?: boolean) => Value,
): FunctionDeclaration => ({
  name,
  overloads: [
    { id: ids[0], params: [stringType], result, call: (text: string) => call(text) },
    { id: ids[1], params: [stringType, boolType], result, call },
  ],
  ...readingCosts(1),
});

export const semverLibrary: Library = {
  name: 'kubernetes.Semver',
  equality: { [semverType.name]: () => ({ cost: fixed(1) }) },
  functions: [
    reading('semver', ['string_to_semver', 'string_bool_to_semver'], semverType, semverValue),
    reading('isSemver', ['is_semver_string', 'is_semver_string_bool'], boolType, isSemver),
    ...comparisonsOf(semverType, 'semver', compare),
    part('major', 0),
    part('minor', 1),
    part('patch', 2),
  ],
};
