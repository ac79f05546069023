// Attribute-based access control: whoever one rule of a list lets through may. The list is read once, at the start.
import type { AbacRule } from '../../api/config/abac-policy.ts';
import type { UserInfo } from '../../apiserver/authentication/user-info.ts';
import type { AuthorizationAttributes, Authorizer } from '../../apiserver/authorization/authorizer.ts';

const reading: readonly string[] = ['get', 'list', 'watch'];

/** Whom a rule names. One that names nobody is nobody's. */
function isFor(rule: AbacRule, { name, groups }: UserInfo): boolean {
  if (rule.user === '' && rule.group === '') return false;
  return (rule.user === '' || rule.user === name) && (rule.group === '' || groups.includes(rule.group));
}

const fits = (told: string, asked: string): boolean => told === '*' || told === asked;

function isAbout(rule: AbacRule, asked: AuthorizationAttributes): boolean {
  if (asked.isResource)
    return (
      fits(rule.namespace, asked.namespace) &&
      fits(rule.resource, asked.resource) &&
      fits(rule.apiGroup, asked.group)
    );
  const { nonResourcePath: path } = rule;
  return fits(path, asked.path) || (path.endsWith('*') && asked.path.startsWith(withoutStars(path)));
}

function withoutStars(path: string): string {
  let end = path.length;
  while (path[end - 1] === '*') end--;
  return path.slice(0, end);
}

/** As reviews of one's rules list them. */
function rulesOf(rule: AbacRule): object[] {
  const verbs = rule.readonly ? reading : ['*'];
  const { apiGroup, resource, nonResourcePath } = rule;
  return [
    ...(resource === '' ? [] : [{ verbs, apiGroups: [apiGroup], resources: [resource] }]),
    ...(nonResourcePath === '' ? [] : [{ verbs, nonResourceURLs: [nonResourcePath] }]),
  ];
}

export function createAbacAuthorizer(rules: readonly AbacRule[]): Authorizer {
  return {
    authorize(asked) {
      const reads = reading.includes(asked.verb);
      const found = rules.some(
        (rule) => (reads || !rule.readonly) && isFor(rule, asked.user) && isAbout(rule, asked),
      );
      return found
        ? { decision: 'allow', reason: '' }
        : { decision: 'no-opinion', reason: 'No policy matched.' };
    },
    rulesFor: (user, namespace) => ({
      rules: rules.filter((rule) => isFor(rule, user) && fits(rule.namespace, namespace)).flatMap(rulesOf),
      incomplete: false,
      errors: [],
    }),
  };
}
