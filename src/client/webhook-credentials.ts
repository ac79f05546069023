// As whom webhooks are asked: a kubeconfig whose users are named after the servers that they are meant for.
import type { Clock } from '../base/clock.ts';
import {
  type Entry,
  isEntry,
  KubeconfigError,
  material,
  type ReadFile,
  readEntries,
  text,
} from './kubeconfig.ts';

export interface AskedAs {
  readonly headers: Readonly<Record<string, string>>;
  /** PEM. */
  readonly client?: { readonly certificate: string; readonly key: string };
}

/** Whose credentials a server is shown: `host:port`. Undefined: nobody's. Throws when they can't be read. */
export type CredentialsFor = (server: string) => Promise<AskedAs | undefined>;

/** As upstream reads files of tokens and certificates again. */
const keptMs = 60_000;

/** A name, and what stars stand before its ends. */
function* namesOf(server: string): Generator<string> {
  yield server;
  const parts = server.split('.');
  for (let i = 1; i < parts.length; i++) yield `*.${parts.slice(i).join('.')}`;
}

/** The names that a server's user may have, the closest first. The port of HTTPS need not be said. */
export function* userNamesFor(server: string): Generator<string> {
  yield* namesOf(server);
  if (server.endsWith(':443')) yield* namesOf(server.slice(0, -':443'.length).replace(/^\[(.*)\]$/, '$1'));
  yield '*';
}

/** That of a file is fresher than the one beside it, which holds while there is none. */
async function tokenOf(user: Entry, file: string, readFile: ReadFile): Promise<string | undefined> {
  const beside = text(user, 'token');
  try {
    return (await material(user, 'tokenFile', file, readFile))?.toString('utf8').trim() || beside;
  } catch (error) {
    if (beside === undefined) throw error;
    return beside;
  }
}

const unsupported: Readonly<Record<string, string>> = {
  'auth-provider': 'auth provider not supported',
  exec: 'exec is not supported here',
  as: 'impersonation is not supported here',
};

async function read(user: Entry, file: string, readFile: ReadFile): Promise<AskedAs> {
  const asks = Object.keys(unsupported).find((field) => user[field] !== undefined);
  if (asks !== undefined) throw new KubeconfigError(unsupported[asks]!);
  const [certificate, key] = await Promise.all([
    material(user, 'client-certificate', file, readFile),
    material(user, 'client-key', file, readFile),
  ]);
  const token = await tokenOf(user, file, readFile);
  const [name, password] = [text(user, 'username') ?? '', text(user, 'password') ?? ''];
  const isNamed = name !== '' || password !== '';
  if (isNamed && token !== undefined)
    throw new KubeconfigError('username/password or bearer token may be set, but not both');
  const authorization = isNamed
    ? `Basic ${Buffer.from(`${name}:${password}`).toString('base64')}`
    : token && `Bearer ${token}`;
  return {
    headers: authorization ? { authorization } : {},
    ...(certificate && key ? { client: { certificate: certificate.toString(), key: key.toString() } } : {}),
  };
}

/** The same for as long as its files need not be read again; one that can't be read then is as it was. */
function keptUser(user: Entry, file: string, readFile: ReadFile, clock: Clock): () => Promise<AskedAs> {
  let known: AskedAs | undefined;
  let untilMs = 0;
  let reading: Promise<AskedAs> | undefined;
  const again = async (): Promise<AskedAs> => {
    try {
      known = await read(user, file, readFile);
    } catch (error) {
      if (known === undefined) throw error;
    } finally {
      reading = undefined;
    }
    untilMs = clock.monotonic() + keptMs;
    return known;
  };
  return async () => {
    if (known !== undefined && clock.monotonic() < untilMs) return known;
    reading ??= again();
    return reading;
  };
}

/** Throws for a file that can't be followed. */
export async function loadWebhookCredentials(
  file: string,
  readFile: ReadFile,
  clock: Clock,
): Promise<CredentialsFor> {
  const config = await readEntries(file, readFile);
  const users = new Map<string, () => Promise<AskedAs>>();
  for (const { name, user } of listed(config['users'])) {
    const entry = isEntry(user) ? user : {};
    if (typeof name !== 'string') continue;
    if (users.has(name))
      throw new KubeconfigError(
        `error loading config file ${JSON.stringify(file)}: error converting *[]NamedAuthInfo into *map[string]*api.AuthInfo: duplicate name ${JSON.stringify(name)} in list`,
      );
    users.set(name, keptUser(entry, file, readFile, clock));
  }
  const current = listed(config['contexts']).find(({ name }) => name === text(config, 'current-context'));
  const ofContext = isEntry(current?.['context']) ? text(current['context'], 'user') : undefined;
  return async (server) => {
    for (const name of userNamesFor(server)) {
      const user = users.get(name);
      if (user !== undefined) return user();
    }
    return ofContext === undefined ? undefined : users.get(ofContext)?.();
  };
}

const listed = (value: unknown): Entry[] => (Array.isArray(value) ? value.filter(isEntry) : []);
