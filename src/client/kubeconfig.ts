// Reads a kubeconfig: which server, whose credentials. Files come through a port.
import type { HttpTransportOptions } from './transport-http.ts';

export class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KubeconfigError';
  }
}

export interface Kubeconfig {
  readonly transport: HttpTransportOptions;
  /** Of the context; 'default' when it names none. */
  readonly namespace: string;
  readonly context: string;
}

export type ReadFile = (path: string) => Promise<Buffer>;
export type Entry = Readonly<Record<string, unknown>>;

export const isEntry = (value: unknown): value is Entry =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
export const text = (entry: Entry, field: string): string | undefined => {
  const value = entry[field];
  return typeof value === 'string' && value !== '' ? value : undefined;
};

function named(config: Entry, list: string, of: string, name: string): Entry {
  const items = config[list];
  const found = (Array.isArray(items) ? items : []).find(
    (item): item is Entry => isEntry(item) && item.name === name,
  );
  const value = found?.[of];
  if (!isEntry(value))
    throw new KubeconfigError(`${of} ${JSON.stringify(name)} does not exist in the kubeconfig`);
  return value;
}

/** Paths in the file are relative to the file's folder. */
function beside(file: string, path: string): string {
  if (path.startsWith('/') || /^[A-Za-z]:[\\/]/.test(path)) return path;
  const cut = Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\'));
  return cut < 0 ? path : file.slice(0, cut + 1) + path;
}

/** What a field's data or file holds. */
export async function material(
  entry: Entry,
  field: string,
  file: string,
  readFile: ReadFile,
): Promise<Buffer | undefined> {
  const data = text(entry, `${field}-data`);
  if (data !== undefined) return Buffer.from(data, 'base64');
  const path = text(entry, field);
  if (path === undefined) return undefined;
  try {
    return await readFile(beside(file, path));
  } catch (cause) {
    throw new KubeconfigError(`unable to read ${field} ${path}`, { cause });
  }
}

/** The file as it is. */
export async function readEntries(file: string, readFile: ReadFile): Promise<Entry> {
  let config: unknown;
  try {
    const [{ parseYaml }, content] = await Promise.all([import('../base/yaml.ts'), readFile(file)]);
    config = parseYaml(content.toString('utf8'));
  } catch (cause) {
    throw new KubeconfigError(`error loading config file ${JSON.stringify(file)}`, { cause });
  }
  if (!isEntry(config))
    throw new KubeconfigError(`error loading config file ${JSON.stringify(file)}: not a mapping`);
  return config;
}

export async function loadKubeconfig(
  file: string,
  readFile: ReadFile,
  contextName?: string,
): Promise<Kubeconfig> {
  const config = await readEntries(file, readFile);
  const context = contextName ?? text(config, 'current-context');
  if (context === undefined) throw new KubeconfigError('no current-context is set in the kubeconfig');
  const chosen = named(config, 'contexts', 'context', context);
  const cluster = named(config, 'clusters', 'cluster', text(chosen, 'cluster') ?? '');
  const userName = text(chosen, 'user');
  const user = userName === undefined ? {} : named(config, 'users', 'user', userName);
  const server = text(cluster, 'server');
  if (server === undefined)
    throw new KubeconfigError(`cluster of context ${JSON.stringify(context)} has no server`);
  for (const unsupported of ['exec', 'auth-provider'])
    if (user[unsupported] !== undefined)
      throw new KubeconfigError(
        `user ${JSON.stringify(userName)} uses ${unsupported}, which is not supported here`,
      );
  const tokenFile = text(user, 'tokenFile');
  return {
    context,
    namespace: text(chosen, 'namespace') ?? 'default',
    transport: {
      server,
      ca: await material(cluster, 'certificate-authority', file, readFile),
      cert: await material(user, 'client-certificate', file, readFile),
      key: await material(user, 'client-key', file, readFile),
      token:
        tokenFile === undefined
          ? text(user, 'token')
          : async () => (await readFile(beside(file, tokenFile))).toString('utf8').trim(),
      insecureSkipTlsVerify: cluster['insecure-skip-tls-verify'] === true,
      tlsServerName: text(cluster, 'tls-server-name'),
    },
  };
}
