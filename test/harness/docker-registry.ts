// Debian's docker-registry, as many of them as a test wants over one store.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Child, Processes } from '../../src/os/processes.ts';
import { eventually } from './eventually.ts';

export interface RegistryOptions {
  /** In whose network it listens. */
  readonly from: Processes;
  /** Of configuration and store. */
  readonly folder: string;
  readonly address: string;
  readonly port: number;
  /** Who may, a line each, with passwords hashed by bcrypt. Default: everybody. */
  readonly htpasswd?: string;
  /** Paths; without it plain HTTP is spoken. */
  readonly tls?: {
    readonly certificate: string;
    readonly key: string;
    readonly clientcas?: readonly string[];
  };
}

/** Returns when it listens. */
export async function startDockerRegistry(options: RegistryOptions): Promise<Child> {
  const { address, folder, from, port, tls } = options;
  const file = join(folder, `registry-${port}.yml`);
  const htpasswd = join(folder, `registry-${port}.htpasswd`);
  if (options.htpasswd !== undefined) writeFileSync(htpasswd, options.htpasswd);
  // JSON is YAML, too
  writeFileSync(
    file,
    JSON.stringify({
      version: 0.1,
      log: { level: 'error' },
      storage: { filesystem: { rootdirectory: join(folder, 'store') } },
      ...(options.htpasswd === undefined ? {} : { auth: { htpasswd: { realm: 'test', path: htpasswd } } }),
      http: { addr: `${address}:${port}`, ...(tls === undefined ? {} : { tls }) },
    }),
  );
  const child = from.spawn('docker-registry', ['serve', file], { env: { OTEL_TRACES_EXPORTER: 'none' } });
  child.stdout?.resume();
  let said = '';
  child.stderr?.on('data', (data: Buffer) => {
    said += data.toString();
  });
  await eventually(async () => {
    const { stdout } = await from.run('ss', ['-Hltn', `src ${address} and sport = :${port}`]);
    if (!stdout.toString().includes(`:${port}`)) throw new Error(`docker-registry does not listen: ${said}`);
  });
  return child;
}
