// What expressions of a configuration say of claims and users, as values that a mapping can use.
import type { ClaimMappings, JwtAuthenticator } from '../../../api/config/authentication-configuration.ts';
import type { UserInfo } from '../../../apiserver/authentication/user-info.ts';

/** An expression, compiled: of the variable's value it makes a value as JSON has them. Throws what went wrong. */
export type Evaluate = (value: object) => unknown;
/** Throws what is wrong with the expression. */
export type CompileExpression = (
  expression: string,
  variable: 'claims' | 'user',
  result: 'any' | 'bool',
) => Evaluate;

interface Rule {
  readonly expression: string;
  readonly message: string;
  readonly evaluate: Evaluate;
}

export interface CompiledMappings {
  readonly username: Evaluate | undefined;
  readonly groups: Evaluate | undefined;
  readonly uid: Evaluate | undefined;
  readonly extra: readonly {
    readonly key: string;
    readonly expression: string;
    readonly evaluate: Evaluate;
  }[];
  readonly claimRules: readonly Rule[];
  readonly userRules: readonly Rule[];
}

export function compileMappings(config: JwtAuthenticator, compile: CompileExpression): CompiledMappings {
  const { username, groups, uid, extra = [] }: ClaimMappings = config.claimMappings ?? {};
  const claims = (expression: string | undefined): Evaluate | undefined =>
    expression ? compile(expression, 'claims', 'any') : undefined;
  const rules = (
    list: readonly { readonly expression?: string; readonly message?: string }[] | undefined,
    variable: 'claims' | 'user',
  ): Rule[] =>
    (list ?? []).flatMap(({ expression, message = '' }) =>
      expression ? [{ expression, message, evaluate: compile(expression, variable, 'bool') }] : [],
    );
  return {
    username: claims(username?.expression),
    groups: claims(groups?.expression),
    uid: claims(uid?.expression),
    extra: extra.map(({ key = '', valueExpression = '' }) => ({
      key,
      expression: valueExpression,
      evaluate: compile(valueExpression, 'claims', 'any'),
    })),
    claimRules: rules(config.claimValidationRules, 'claims'),
    userRules: rules(config.userValidationRules, 'user'),
  };
}

export function stringOf(evaluate: Evaluate, claims: object, what: string): string {
  const value = evaluate(claims);
  if (typeof value !== 'string') throw new Error(`${what} claim expression must return a string`);
  return value;
}

/** Empty texts and null are nothing. */
export function stringsOf(value: unknown): string[] {
  if (value === null) return [];
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (!list.every((item) => typeof item === 'string'))
    throw new Error('expression must return a string or a list of strings');
  return list.filter((item) => item !== '');
}

export function holdTo(rules: readonly Rule[], value: object): void {
  for (const { expression, message, evaluate } of rules) {
    const holds = evaluate(value);
    if (typeof holds !== 'boolean') throw new Error('validation expression must return a boolean');
    if (!holds) throw new Error(`validation expression '${expression}' failed: ${message}`);
  }
}

/** A user as `user` has it in expressions: UserInfo of authentication.k8s.io/v1. */
export const userValue = ({ name, uid = '', groups, extra = {} }: UserInfo): object => ({
  username: name,
  uid,
  groups,
  extra,
});
