// What the labels of a namespace ask for: a level and the version of its rules, for each of three modes.
import { type FieldError, invalid } from '../../../apimachinery/field-error.ts';

const levels = ['privileged', 'baseline', 'restricted'] as const;
export type Level = (typeof levels)[number];

export interface LevelVersion {
  readonly level: Level;
  /** The minor of 1.x; undefined is the latest. */
  readonly minor: number | undefined;
}

export interface Policy {
  readonly enforce: LevelVersion;
  readonly audit: LevelVersion;
  readonly warn: LevelVersion;
}

const prefix = 'pod-security.kubernetes.io/';

export const levelText = ({ level, minor }: LevelVersion): string =>
  `${level}:${minor === undefined ? 'latest' : `v1.${minor}`}`;
export const strictness = (level: Level): number => levels.indexOf(level);
export const samePolicy = (a: LevelVersion, b: LevelVersion): boolean =>
  a.level === b.level && a.minor === b.minor;

type Labels = Readonly<Record<string, string | undefined>>;

/**
 * As upstream: labels that can't be read ask for the strictest level when it is enforced, for none when it is told,
 * and the latest version. Who enforces without saying what to warn of is warned of the same.
 */
export function policyOf(labels: Labels): {
  readonly policy: Policy;
  readonly errors: readonly FieldError[];
} {
  const errors: FieldError[] = [];
  const label = (name: string): string | undefined =>
    Object.hasOwn(labels, prefix + name) ? labels[prefix + name] : undefined;
  const refuse = (name: string, value: string, why: string): void => {
    errors.push(invalid(`metadata.labels[${prefix}${name}]`, value, why));
  };
  const levelOf = (name: string, unreadable: Level): Level => {
    const text = label(name);
    if (text === undefined) return 'privileged';
    const level = levels.find((l) => l === text);
    if (level === undefined) refuse(name, text, `must be one of ${levels.join(', ')}`);
    return level ?? unreadable;
  };
  const minorOf = (name: string): number | undefined => {
    const text = label(`${name}-version`);
    if (text === undefined || text === 'latest') return undefined;
    const minor = /^v1\.([0-9]|[1-9][0-9]*)$/.exec(text)?.[1];
    if (minor === undefined) refuse(`${name}-version`, text, 'must be "latest" or "v1.x"');
    return minor === undefined ? undefined : Number(minor);
  };
  const enforceLevel = levelOf('enforce', 'restricted');
  const readable = levels.some((l) => l === label('enforce'));
  const enforce = { level: enforceLevel, minor: minorOf('enforce') };
  const audit = { level: levelOf('audit', 'privileged'), minor: minorOf('audit') };
  let warn = { level: levelOf('warn', 'privileged'), minor: minorOf('warn') };
  if (label('warn') === undefined && readable && enforce.level !== 'privileged')
    warn = { level: enforce.level, minor: label('warn-version') === undefined ? enforce.minor : warn.minor };
  return { policy: { enforce, audit, warn }, errors };
}
