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

const everybody: LevelVersion = { level: 'privileged', minor: undefined };
export const privilegedPolicy: Policy = { enforce: everybody, audit: everybody, warn: everybody };

export const isPrivileged = ({ enforce, audit, warn }: Policy): boolean =>
  [enforce, audit, warn].every(({ level }) => level === 'privileged');

const levelOf = (text: string): Level | undefined => levels.find((level) => level === text);

/** The minor of `v1.x`; 'latest', or undefined for what is neither. */
function minorOf(text: string): number | 'latest' | undefined {
  if (text === 'latest') return 'latest';
  const minor = /^v1\.([0-9]|[1-9][0-9]*)$/.exec(text)?.[1];
  return minor === undefined ? undefined : Number(minor);
}

/** Of a configuration that was found right. */
export function levelVersion(level: string, version: string): LevelVersion {
  const minor = minorOf(version);
  return { level: levelOf(level) ?? 'restricted', minor: minor === 'latest' ? undefined : minor };
}

export const hasLabel = (labels: Labels, name: string): boolean => Object.hasOwn(labels, prefix + name);

/**
 * As upstream: labels that can't be read ask for the strictest level when it is enforced, for none when it is told,
 * and the latest version. Who enforces more than what is warned of, without saying of what to warn, is warned of the same.
 */
export function policyOf(
  labels: Labels,
  defaults: Policy = privilegedPolicy,
): {
  readonly policy: Policy;
  readonly errors: readonly FieldError[];
} {
  const errors: FieldError[] = [];
  const refuse = (name: string, value: string, why: string): void => {
    errors.push(invalid(`metadata.labels[${prefix}${name}]`, value, why));
  };
  const label = (name: string): string | undefined =>
    hasLabel(labels, name) ? labels[prefix + name] : undefined;
  const asked = (mode: keyof Policy, unreadable: Level): LevelVersion => {
    let { level, minor } = defaults[mode];
    const text = label(mode);
    if (text !== undefined) {
      const known = levelOf(text);
      if (known === undefined) refuse(mode, text, `must be one of ${levels.join(', ')}`);
      level = known ?? unreadable;
    }
    const version = label(`${mode}-version`);
    if (version !== undefined) {
      const known = minorOf(version);
      if (known === undefined) refuse(`${mode}-version`, version, 'must be "latest" or "v1.x"');
      minor = known === 'latest' ? undefined : known;
    }
    return { level, minor };
  };
  const enforce = asked('enforce', 'restricted');
  const audit = asked('audit', 'privileged');
  let warn = asked('warn', 'privileged');
  const isReadable = levelOf(label('enforce') ?? '') !== undefined;
  if (!hasLabel(labels, 'warn') && isReadable && strictness(enforce.level) > strictness(warn.level))
    warn = { level: enforce.level, minor: hasLabel(labels, 'warn-version') ? warn.minor : enforce.minor };
  return { policy: { enforce, audit, warn }, errors };
}
