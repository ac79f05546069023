// What envtest starts as etcd: it answers whether it is healthy, and where the API server beside it may keep its objects.
import { mkdirSync } from 'node:fs';
import { createServer, get } from 'node:http';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { untilStopped } from '../until-stopped.ts';

/** Asked by our kube-apiserver alone. */
const folderPath = '/porthole/data-dir';

export interface EtcdFlags {
  readonly dataDir: string;
  readonly listenClientUrls: readonly string[];
}

/** Until it is told to end. The folder is the caller's: whoever made it removes it. */
export async function serveEtcdPlaceholder({ dataDir, listenClientUrls }: EtcdFlags): Promise<void> {
  const folder = resolve(dataDir, 'porthole');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const answers: Readonly<Record<string, string>> = {
    '/health': JSON.stringify({ health: 'true', reason: '' }),
    [folderPath]: folder,
  };
  const server = createServer((request, response) => {
    const answer = answers[request.url ?? ''];
    response.statusCode = answer === undefined ? 404 : 200;
    response.end(answer ?? "this is no etcd: Porthole's kube-apiserver keeps its objects in a folder\n");
  });
  const { hostname, port } = new URL(listenClientUrls[0] ?? 'http://127.0.0.1:2379');
  await new Promise<void>((done, failed) => {
    server.once('error', failed).listen(Number(port), hostname.replace(/^\[|\]$/g, ''), done);
  });
  await untilStopped();
  server.close();
  server.closeAllConnections();
}

/** The folder that the placeholder at this address was given. Throws Error when something else answers there. */
export async function folderOfEtcd(url: string): Promise<string> {
  const answer = await new Promise<{ status: number | undefined; body: string }>((done, failed) => {
    get(new URL(folderPath, url), (response) => {
      text(response).then((body) => done({ status: response.statusCode, body }), failed);
    }).once('error', failed);
  }).catch((cause: unknown) => {
    throw new Error(`--etcd-servers ${url} does not answer`, { cause });
  });
  if (answer.status !== 200)
    throw new Error(
      `--etcd-servers ${url} is a real etcd: this kube-apiserver keeps its objects in the folder of the etcd that porthole envtest wrote beside it`,
    );
  return join(answer.body);
}
