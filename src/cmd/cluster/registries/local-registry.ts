// The registry beside a cluster: Debian's docker-registry, once for the machine and once, for reading only, for the nodes.
import { join } from 'node:path';
import { makeFolderDurably, writeDurably } from '../../../component-base/durable-file.ts';
import type { SupervisedProcess } from '../../supervisor/supervision.ts';
import type { ClusterPaths } from '../cluster-state.ts';

export interface LocalRegistry {
  readonly paths: Pick<ClusterPaths, 'registry' | 'logs'>;
  /** The program. */
  readonly program: string;
  readonly port: number;
  /** The machine's address on the fabric. */
  readonly gateway: string;
}

interface Door {
  readonly role: string;
  readonly address: string;
  readonly readOnly: boolean;
}

/**
 * Two doors of one store: whoever is on the machine may write, whoever is in the cluster only reads. A pod that could write
 * would choose what other tenants' pods run.
 */
const doorsOf = (gateway: string): readonly Door[] => [
  { role: 'registry', address: '127.0.0.1', readOnly: false },
  { role: 'registry for nodes', address: gateway, readOnly: true },
];

const configFile = (paths: LocalRegistry['paths'], { readOnly }: Door): string =>
  join(paths.registry, readOnly ? 'for-nodes.json' : 'config.json');

/** Each file is one process's and no other's: processes are found by it. */
export const registryRoles = (paths: LocalRegistry['paths']): ReadonlyMap<string, string> =>
  new Map(doorsOf('').map((door) => [configFile(paths, door), door.role]));

const configOf = (
  { paths, port }: LocalRegistry,
  { address, readOnly }: Door,
): Readonly<Record<string, unknown>> => ({
  version: 0.1,
  log: { level: 'warn', accesslog: { disabled: true } },
  storage: {
    filesystem: { rootdirectory: join(paths.registry, 'data') },
    delete: { enabled: !readOnly },
    maintenance: { readonly: { enabled: readOnly } },
  },
  http: { addr: `${address}:${port}`, headers: { 'X-Content-Type-Options': ['nosniff'] } },
});

/** Its processes, as the cluster's supervisor is told of them; their files are written. */
export function registryProcesses(registry: LocalRegistry): SupervisedProcess[] {
  const { gateway, paths, port, program } = registry;
  makeFolderDurably(paths.registry);
  return doorsOf(gateway).map((door) => {
    const file = configFile(paths, door);
    // JSON is YAML, too.
    writeDurably(file, `${JSON.stringify(configOf(registry, door), null, 2)}\n`);
    return {
      role: door.role,
      // Debian's tells of its work by OpenTelemetry, to whoever listens there, unless it is told not to.
      command: ['env', 'OTEL_TRACES_EXPORTER=none', program, 'serve', file],
      logFile: join(paths.logs, `${door.role.replaceAll(' ', '-')}.log`),
      liveness: { host: door.address, port, path: '/', plain: true },
    };
  });
}
