// A policy file of attribute-based access control: one rule by line, in its version or in the old form without one.
import { syntaxError } from '../../apimachinery/serializer/json-syntax-error.ts';
import { parseYaml } from '../../base/yaml.ts';

/** What a rule says, with the old form's silence filled in. */
export interface AbacRule {
  readonly user: string;
  readonly group: string;
  readonly readonly: boolean;
  readonly apiGroup: string;
  readonly resource: string;
  readonly namespace: string;
  readonly nonResourcePath: string;
}

export interface AbacPolicy {
  readonly rules: readonly AbacRule[];
  /** Lines of the old form: without a version they say more than they seem to. */
  readonly unversioned: number;
}

const group = 'abac.authorization.kubernetes.io';
const allAuthenticated = 'system:authenticated';
/** As upstream reads lines. */
const maxLineBytes = 64 * 1024;

type Fields = Readonly<Record<string, unknown>>;

/** As Go tells of a field that holds something else. */
function wrongType(value: unknown, field: string, type: string): Error {
  const kind = Array.isArray(value) ? 'array' : typeof value === 'boolean' ? 'bool' : typeof value;
  return new Error(`json: cannot unmarshal ${kind} into Go struct field ${field} of type ${type}`);
}

const text = (from: Fields, of: string, name: string): string => {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  if (value === undefined || value === null) return '';
  if (typeof value !== 'string') throw wrongType(value, `${of}.${name}`, 'string');
  return value;
};

const flag = (from: Fields, of: string, name: string): boolean => {
  const value = Object.hasOwn(from, name) ? from[name] : undefined;
  if (value === undefined || value === null) return false;
  if (typeof value !== 'boolean') throw wrongType(value, `${of}.${name}`, 'bool');
  return value;
};

const fieldsOf = (value: unknown, what: string): Fields => {
  if (value === undefined || value === null) return {};
  if (typeof value !== 'object' || Array.isArray(value)) throw wrongType(value, what, 'v1beta1.PolicySpec');
  return value as Fields;
};

/** A star means everybody who is somebody: whoever is anonymous has to be named. */
const subjectsOf = (user: string, to: string): Pick<AbacRule, 'user' | 'group'> =>
  user === '*' || to === '*' ? { user: '', group: allAuthenticated } : { user, group: to };

function versionedRule(line: Fields): AbacRule {
  const spec = fieldsOf(line['spec'], 'Policy.spec');
  const of = (name: string): string => text(spec, 'PolicySpec.spec', name);
  return {
    ...subjectsOf(of('user'), of('group')),
    readonly: flag(spec, 'PolicySpec.spec', 'readonly'),
    apiGroup: of('apiGroup'),
    resource: of('resource'),
    namespace: of('namespace'),
    nonResourcePath: of('nonResourcePath'),
  };
}

/** Of the old form: what it does not say is everything. */
function oldRule(line: Fields): AbacRule {
  const of = (name: string): string => text(line, 'Policy', name);
  const [user, to, resource, namespace] = ['user', 'group', 'resource', 'namespace'].map(of) as [
    string,
    string,
    string,
    string,
  ];
  return {
    ...(user === '' && to === '' ? { user: '', group: allAuthenticated } : subjectsOf(user, to)),
    readonly: flag(line, 'Policy', 'readonly'),
    apiGroup: '*',
    resource: resource === '' ? '*' : resource,
    namespace: namespace === '' ? '*' : namespace,
    nonResourcePath: resource === '' && namespace === '' ? '*' : '',
  };
}

function objectOf(line: string): Fields {
  let value: unknown;
  try {
    value = line.trimStart().startsWith('{') ? JSON.parse(line) : parseYaml(line);
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    throw new Error(`couldn't get version/kind; json parse error: ${syntaxError(line)}`);
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(
      `couldn't get version/kind; json parse error: json: cannot unmarshal ${Array.isArray(value) ? 'array' : typeof value} into Go value of type struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }`,
    );
  return value as Fields;
}

/** `old`: of the form without a version. */
function ruleOf(line: string): { readonly rule: AbacRule; readonly old: boolean } {
  const fields = objectOf(line);
  const kind = text(fields, 'Policy', 'kind');
  const version = text(fields, 'Policy', 'apiVersion');
  if (kind === 'Policy' && version === `${group}/v1beta1`) return { rule: versionedRule(fields), old: false };
  if (kind === 'Policy' && version === `${group}/v0`) return { rule: oldRule(fields), old: false };
  // What half a version says is filled in from the old form's; anything else is a kind that nobody knows.
  if ((kind === '' || kind === 'Policy') && version === '') return { rule: oldRule(fields), old: true };
  if (kind === '' && version === `${group}/v0`) return { rule: oldRule(fields), old: true };
  throw new Error(
    `no kind ${JSON.stringify(kind === '' ? 'Policy' : kind)} is registered for version ${JSON.stringify(version === '' ? `${group}/v0` : version)}`,
  );
}

/** Throws with the file's name and the line for what can't be read. */
export function readAbacPolicy(path: string, content: string): AbacPolicy {
  const rules: AbacRule[] = [];
  let unversioned = 0;
  for (const [i, ended] of content.split('\n').entries()) {
    const line = ended.endsWith('\r') ? ended.slice(0, -1) : ended;
    // A character is up to three bytes: the length is asked first, which costs nothing.
    if (line.length >= maxLineBytes)
      throw new Error(`error reading policy file ${path}: bufio.Scanner: token too long`);
    const trimmed = line.trim();
    if (trimmed === '' || trimmed.startsWith('#')) continue;
    try {
      const { rule, old } = ruleOf(line);
      rules.push(rule);
      if (old) unversioned++;
    } catch (error) {
      throw new Error(
        `error reading policy file ${path}, line ${i + 1}: ${line}: ${(error as Error).message}`,
      );
    }
  }
  return { rules, unversioned };
}
