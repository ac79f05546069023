// The RBAC authorizer: rules compiled once for each user and namespace, forgotten when an RBAC object changes.
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type { AuthorizationDecision, Authorizer } from '../../apiserver/authorization/authorizer.ts';
import { KeptAnswers } from '../../base/kept-answers.ts';
import { type CompiledRules, compileRules } from './rbac/compiled-rules.ts';
import type { ResolvedRules, RuleResolver } from './rbac/rule-resolver.ts';

interface Compiled {
  readonly rules: CompiledRules;
  readonly errors: readonly string[];
}

/** Users and namespaces whose rules are kept. A review may ask of any user, and of any text as a namespace. */
const bounds = { most: 4096, room: 16 << 20, longest: 64 << 10 };

const aggregate = (errors: readonly string[]): string =>
  errors.length === 1 ? errors[0]! : `[${[...new Set(errors)].join(', ')}]`;

export function createRbacAuthorizer(resolver: RuleResolver): Authorizer {
  let version = Number.NaN;
  const compiled = new KeptAnswers<Compiled>(bounds);
  const compiledFor = (key: string, resolve: () => ResolvedRules): Compiled => {
    const known = compiled.get(key);
    if (known !== undefined) return known;
    const { rules, errors } = resolve();
    const made = { rules: compileRules(rules), errors };
    compiled.put(key, made);
    return made;
  };
  /** Of one user only, whatever is in the names: a provider, a certificate or a review may say any. */
  const keyOf = ({ name, groups }: UserInfo): string => JSON.stringify([name, groups]);

  return {
    authorize(attributes): AuthorizationDecision {
      const now = resolver.version();
      if (now !== version) {
        compiled.clear();
        version = now;
      }
      const { user, namespace } = attributes;
      const key = keyOf(user);
      const cluster = compiledFor(key, () => resolver.clusterRulesFor(user));
      const source = cluster.rules.allowedBy(attributes);
      if (source !== undefined) return { decision: 'allow', reason: `RBAC: allowed by ${source}` };
      let errors = cluster.errors;
      if (namespace !== '') {
        // The user's part ends where its JSON does, so the two never run together.
        const local = compiledFor(`${key}${namespace}`, () => resolver.namespaceRulesFor(user, namespace));
        const localSource = local.rules.allowedBy(attributes);
        if (localSource !== undefined)
          return { decision: 'allow', reason: `RBAC: allowed by ${localSource}` };
        errors = [...errors, ...local.errors];
      }
      return {
        decision: 'no-opinion',
        reason: errors.length === 0 ? '' : `RBAC: ${aggregate(errors)}`,
      };
    },
    rulesFor(user, namespace) {
      const { rules, errors } = resolver.rulesFor(user, namespace);
      return { rules: rules.map(({ rule }) => rule), incomplete: false, errors };
    },
  };
}
