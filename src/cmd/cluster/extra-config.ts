// `--extra-config`, in minikube's words: flags of the programs that a cluster is made of. Pure.

/** Of upstream's programs, that Porthole has in two: server and agent. */
const extraComponents = ['apiserver', 'controller-manager', 'scheduler', 'kubelet', 'kube-proxy'] as const;

/** Both are in the agent. */
export const isOfAgent = (component: (typeof extraComponents)[number]): boolean =>
  component === 'kubelet' || component === 'kube-proxy';

/** As the cluster's record keeps it. */
export interface ExtraFlag {
  readonly component: (typeof extraComponents)[number];
  /** Without dashes before it. */
  readonly flag: string;
  readonly value: string;
}

/** Without a value: what was said of the flag before is forgotten. */
export type AskedFlag = Omit<ExtraFlag, 'value'> & { readonly value: string | undefined };

/** Of all names and values of one command: what a program can be started with has an end, too. */
const mostCharacters = 32_768;

const form = 'apiserver.<flag>=<value>, or apiserver.<flag>- to forget it';
const control = /[\u0000-\u001f\u007f]/;

const mostShown = 60;

/** In an error: it may be long, and hold what a terminal obeys. */
const shown = (text: string): string =>
  JSON.stringify(text.length > mostShown ? `${text.slice(0, mostShown)}…` : text);

/** Throws Error with what is wrong with it. */
export function parseExtraFlag(text: string): AskedFlag {
  if (text.length > mostCharacters)
    throw new Error(`${shown(text)} is longer than ${mostCharacters} characters`);
  const dot = text.indexOf('.');
  const equals = text.indexOf('=');
  const [name, value] =
    equals < 0 && text.endsWith('-')
      ? [text.slice(0, -1), undefined]
      : [text.slice(0, equals), text.slice(equals + 1)];
  if (dot < 1 || (value !== undefined && equals < dot)) throw new Error(`${shown(text)} is not ${form}`);
  const component = extraComponents.find((one) => one === text.slice(0, dot));
  if (component === undefined)
    throw new Error(
      `${shown(text)}: there is no component ${shown(text.slice(0, dot))}; there are ${extraComponents.join(', ')}`,
    );
  const flag = name.slice(dot + 1);
  if (!/^[a-z][a-z0-9-]*$/.test(flag)) throw new Error(`${shown(text)} is not ${form}`);
  if (value !== undefined && control.test(value))
    throw new Error(`${shown(text)} has a control character in it`);
  return { component, flag, value };
}

/** All that one command says. Throws Error when that is too much. */
export function addExtraFlag(text: string, before: readonly AskedFlag[] = []): AskedFlag[] {
  const all = [...before, parseExtraFlag(text)];
  const length = all.reduce((sum, { flag, value = '' }) => sum + flag.length + value.length, 0);
  if (length > mostCharacters)
    throw new Error(`all of them together are longer than ${mostCharacters} characters`);
  return all;
}

const isSame = (one: AskedFlag, other: AskedFlag): boolean =>
  one.component === other.component && one.flag === other.flag;

/** What a command says of a flag goes before all that was said of it earlier. */
export const mergeExtraFlags = (
  known: readonly ExtraFlag[] = [],
  asked: readonly AskedFlag[] = [],
): readonly ExtraFlag[] | undefined => {
  const all = [
    ...known.filter((one) => !asked.some((other) => isSame(one, other))),
    ...asked.filter((one): one is ExtraFlag => one.value !== undefined),
  ];
  return all.length === 0 ? undefined : all;
};

/** Whatever the order in which flags were said; what is said of one flag has an order. */
export function saySame(
  some: readonly ExtraFlag[] | undefined,
  others: readonly ExtraFlag[] | undefined,
): boolean {
  const byFlag = (flags: readonly ExtraFlag[] = []): string =>
    JSON.stringify(
      flags.toSorted((a, b) => `${a.component}.${a.flag}`.localeCompare(`${b.component}.${b.flag}`)),
    );
  return byFlag(some) === byFlag(others);
}

/** What a flag is called by server or agent: --config says nothing of whose it is. */
export const ownFlag = ({ component, flag }: Pick<ExtraFlag, 'component' | 'flag'>): string =>
  component === 'scheduler' ? `scheduler-${flag}` : flag;

/** Server and agent take them as one argument each: a value with dashes is no flag. */
export const argumentsOf = (flags: readonly ExtraFlag[] | undefined, program: 'server' | 'agent'): string[] =>
  (flags ?? [])
    .filter(({ component }) => isOfAgent(component) === (program === 'agent'))
    .map((one) => `--${ownFlag(one)}=${one.value}`);
