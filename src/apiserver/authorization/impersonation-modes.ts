// Who may act as whom. Constrained impersonation: a right to be somebody, and one to do this as somebody of the kind; and what was
// before it, a right to be somebody that is good for all they may.
import type { StatusError } from '../../apimachinery/errors.ts';
import { fieldErrorText } from '../../apimachinery/field-error.ts';
import { domainPrefixedPath } from '../../apimachinery/validation/checks.ts';
import { dnsLabel, dnsSubdomain } from '../../apimachinery/validation/names.ts';
import type { UserInfo } from '../authentication/user-info.ts';
import { forbiddenBy } from './attributes.ts';
import type { AuthorizationAttributes, Authorizer } from './authorizer.ts';

/** As the headers name them. */
export interface WantedUser {
  readonly name: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: ReadonlyMap<string, readonly string[]>;
}

interface Impersonated {
  readonly user: UserInfo;
  /** The verb by which it was allowed; '' for the one that was before. */
  readonly constraint: string;
}

const group = 'authentication.k8s.io';

const accountOf = (name: string): { readonly namespace: string; readonly name: string } | undefined => {
  const [system, kind, namespace, account, rest] = name.split(':');
  if (system !== 'system' || kind !== 'serviceaccount' || rest !== undefined) return undefined;
  if (namespace === undefined || account === undefined) return undefined;
  if (dnsLabel(namespace).length > 0 || dnsSubdomain(account).length > 0) return undefined;
  return { namespace, name: account };
};

const nodePrefix = 'system:node:';
const nodeOf = (name: string): string | undefined => {
  const node = name.slice(nodePrefix.length);
  return name.startsWith(nodePrefix) && dnsSubdomain(node).length === 0 ? node : undefined;
};

const isNameOnly = ({ uid, groups, extra }: WantedUser): boolean =>
  uid === '' && groups.length === 0 && extra.size === 0;

/** The node of the pod whose token the requestor has. */
const ownNodeOf = ({ extra = {} }: UserInfo): string | undefined => {
  const nodes = extra['authentication.kubernetes.io/node-name'] ?? [];
  return nodes.length === 1 ? nodes[0] : undefined;
};

interface Mode {
  /** '' is the one that was before. */
  readonly name: string;
  applies(wanted: WantedUser, requestor: UserInfo): boolean;
}

/** The narrowest first. */
const modes: readonly Mode[] = [
  {
    name: 'associated-node',
    applies: (wanted, requestor) =>
      isNameOnly(wanted) &&
      nodeOf(wanted.name) !== undefined &&
      accountOf(requestor.name) !== undefined &&
      ownNodeOf(requestor) === nodeOf(wanted.name),
  },
  { name: 'arbitrary-node', applies: (wanted) => isNameOnly(wanted) && nodeOf(wanted.name) !== undefined },
  { name: 'serviceaccount', applies: (wanted) => isNameOnly(wanted) && accountOf(wanted.name) !== undefined },
  {
    name: 'user-info',
    applies: ({ name }) => nodeOf(name) === undefined && accountOf(name) === undefined,
  },
  { name: '', applies: () => true },
];

type Question = Pick<AuthorizationAttributes, 'group' | 'resource' | 'subresource' | 'namespace' | 'name'>;
type Ask = (attributes: AuthorizationAttributes) => Promise<void>;

const question = (resource: string, name: string, more: Partial<Question> = {}): Question => ({
  ...{ group, resource, name, subresource: '', namespace: '' },
  ...more,
});

/** What an associated node's account is asked about is the same on all nodes. */
function ofAllNodes(attributes: AuthorizationAttributes): AuthorizationAttributes {
  const { user, verb, name } = attributes;
  const keys = Object.keys(user.extra ?? {}).sort();
  return {
    ...attributes,
    user: { ...user, extra: { 'authentication.kubernetes.io/associated-node-keys': keys } },
    name: verb === 'impersonate:associated-node' ? '*' : name,
  };
}

/** From here on one question for all of them goes before the many. */
const many = 4;

/** What of groups and extra nobody may be by constrained impersonation, whatever they may. */
function refusalOf({ groups, extra }: WantedUser): readonly [Question, string] | undefined {
  if (groups.includes(''))
    return [question('groups', ''), 'impersonating the empty string group is not allowed'];
  if (groups.includes('system:masters'))
    return [question('groups', 'system:masters'), 'impersonating the system:masters group is not allowed'];
  for (const [key, values] of extra) {
    const why = extraFault(key, values);
    if (why !== undefined) return [question('userextras', ''), why];
  }
  return undefined;
}

function extraFault(key: string, values: readonly string[]): string | undefined {
  if (key === '') return 'impersonating the empty string key in extra is not allowed';
  const faults = domainPrefixedPath('extra.key', key).map(fieldErrorText);
  if (faults.length > 0)
    return `impersonating an invalid key in extra is not allowed: ${faults.length === 1 ? faults[0]! : `[${faults.join(', ')}]`}`;
  if (key !== key.toLowerCase())
    return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
  return values.includes('') ? 'impersonating the empty string value in extra is not allowed' : undefined;
}

function nameQuestion(name: string, isConstrained: boolean): Question {
  const [account, node] = [accountOf(name), nodeOf(name)];
  const own = isConstrained ? group : '';
  if (account !== undefined)
    return question('serviceaccounts', account.name, { group: own, namespace: account.namespace });
  if (isConstrained && node !== undefined) return question('nodes', node);
  return question('users', name, { group: own });
}

/** Who the wanted user is to the server: nodes and accounts have their groups. */
function userOf({ name, uid, groups: asked, extra }: WantedUser, isConstrained: boolean): UserInfo {
  const account = accountOf(name);
  const groups = [...asked];
  if (account !== undefined && asked.length === 0)
    groups.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`);
  if (isConstrained && nodeOf(name) !== undefined) groups.push('system:nodes');
  const nobody = 'system:unauthenticated';
  const mark = name === 'system:anonymous' ? nobody : 'system:authenticated';
  if (!groups.includes(mark) && (mark === nobody || !groups.includes(nobody))) groups.push(mark);
  return {
    name,
    groups,
    ...(uid === '' ? {} : { uid }),
    ...(extra.size > 0 ? { extra: Object.fromEntries(extra) } : {}),
  };
}

/** Asks for all of them at once, if they are many; then for each. */
async function askAll(
  questions: readonly Question[],
  all: Question | undefined,
  ask: (q: Question) => Promise<void>,
): Promise<void> {
  if (all !== undefined && questions.length >= many) {
    const isAllowed = await ask(all).then(
      () => true,
      () => false,
    );
    if (isAllowed) return;
  }
  for (const one of questions) await ask(one);
}

async function askToBe(wanted: WantedUser, mode: Mode, requestor: UserInfo, ask: Ask): Promise<Impersonated> {
  const isConstrained = mode.name !== '';
  const verb = isConstrained ? `impersonate:${mode.name}` : 'impersonate';
  const asked = (q: Question): AuthorizationAttributes => ({
    ...{ user: requestor, verb, isResource: true, version: 'v1', path: '' },
    ...q,
  });
  const put = (q: Question): Promise<void> => ask(asked(q));
  await put(nameQuestion(wanted.name, isConstrained));
  if (wanted.uid !== '') await put(question('uids', wanted.uid));
  const refusal = isConstrained ? refusalOf(wanted) : undefined;
  if (refusal !== undefined) throw forbiddenBy(asked(refusal[0]), refusal[1]);
  const own = isConstrained ? group : '';
  const groups = wanted.groups.map((name) => question('groups', name, { group: own }));
  await askAll(groups, isConstrained ? question('groups', '*') : undefined, put);
  const extras = [...wanted.extra].flatMap(([subresource, values]) =>
    values.map((value) => question('userextras', value, { subresource })),
  );
  await askAll(extras, isConstrained ? question('userextras', '*', { subresource: '*' }) : undefined, put);
  return { user: userOf(wanted, isConstrained), constraint: isConstrained ? verb : '' };
}

/** By whom what was allowed last; past it all are forgotten. */
const maxKnown = 1024;

/** Throws StatusError 403, in the words of the first that was asked. */
export function createImpersonation(
  authorizer: Authorizer,
): (wanted: WantedUser, attributes: AuthorizationAttributes) => Promise<Impersonated> {
  const known = new Map<string, Mode>();
  const ask: Ask = async (attributes) => {
    const { decision, reason } = await authorizer.authorize(attributes);
    if (decision !== 'allow') throw forbiddenBy(attributes, reason);
  };
  const attempt = async (
    mode: Mode,
    wanted: WantedUser,
    attributes: AuthorizationAttributes,
  ): Promise<Impersonated> => {
    const asked: Ask = mode.name === 'associated-node' ? (a) => ask(ofAllNodes(a)) : ask;
    if (mode.name !== '')
      await asked({ ...attributes, verb: `impersonate-on:${mode.name}:${attributes.verb}` });
    return askToBe(wanted, mode, attributes.user, asked);
  };
  return async (wanted, attributes) => {
    const requestor = attributes.user;
    const last = known.get(requestor.name);
    const ordered = last === undefined ? modes : [last, ...modes.filter((mode) => mode !== last)];
    let first: unknown;
    for (const mode of ordered) {
      if (!mode.applies(wanted, requestor)) continue;
      try {
        const allowed = await attempt(mode, wanted, attributes);
        if (known.size >= maxKnown) known.clear();
        known.set(requestor.name, mode);
        return allowed;
      } catch (error) {
        first ??= error as StatusError;
      }
    }
    throw first;
  };
}
