// Public door: a client of any Kubernetes API server, with informers.
import { readFile } from 'node:fs/promises';
import type { InformerFactory } from '../client/cache/informer.ts';
import { createInformerFactory as createFactory } from '../client/cache/informer-factory.ts';
import type { Client } from '../client/client.ts';
import { createClient } from '../client/create-client.ts';
import { loadKubeconfig } from '../client/kubeconfig.ts';
import { httpTransport } from '../client/transport-http.ts';
import { silentLogger } from '../component-base/logger.ts';
import { systemClock } from '../component-base/system-clock.ts';
import { systemRandom } from '../component-base/system-random.ts';

export type { Informer, InformerFactory, InformerHandler, Lister } from '../client/cache/informer.ts';
export type * from '../client/client.ts';

export interface ConnectedClient {
  readonly client: Client;
  close(): Promise<void>;
}

/** A client with the credentials of a kubeconfig file's context. Throws when the file is not usable. */
export async function clientFromKubeconfig(file: string, context?: string): Promise<ConnectedClient> {
  const { transport } = await loadKubeconfig(file, (path) => readFile(path), context);
  const open = httpTransport(systemClock, transport);
  return { client: createClient(open), close: () => open.close() };
}

/** Informers that list once and watch from then on. */
export const createInformers = (client: Client): InformerFactory =>
  createFactory({ client, clock: systemClock, random: systemRandom, log: silentLogger });
