// The agent's side of CNI: serves the plugin on a unix socket and installs the binary and the configuration.
import { contentKey } from '../../component-base/content-hash.ts';
import type { Logger } from '../../component-base/logger.ts';
import type { Files } from '../../os/files.ts';
import type { NetworkHost } from '../../os/network-host.ts';
import { serveUnixExchanges, type UnixExchangeServer } from '../../wire/unix-exchange.ts';
import { createAttachmentStore } from './attachments.ts';
import { cniErrorJson } from './cni-error.ts';
import { type CniPlugin, createCniPlugin } from './cni-plugin.ts';
import { parseCniRequest, splitQuestion } from './cni-request.ts';

const maxQuestionBytes = 4 << 20;
const idleTimeoutMs = 30_000;
/** Of sockaddr_un, without the NUL at its end. */
const maxSocketPathBytes = 107;

/** First byte: 0 or 1, the plugin's exit code; then its stdout. */
export async function answerCni(plugin: CniPlugin, question: Buffer, log: Logger): Promise<Buffer> {
  let version = '1.0.0';
  try {
    const { env, stdin } = splitQuestion(question);
    const request = parseCniRequest(env, stdin);
    version = request.version;
    const text = await plugin.handle(request);
    log.debug({ command: request.command, containerID: request.containerID }, 'CNI request');
    return Buffer.from(`0${text}`);
  } catch (error) {
    log.warn({ error }, 'CNI request failed');
    return Buffer.from(`1${cniErrorJson(error, version)}`);
  }
}

export interface CniDaemonOptions {
  /** Of the node's own namespace. */
  readonly host: NetworkHost;
  readonly files: Files;
  readonly log: Logger;
  /** Records are kept here. */
  readonly dataDir: string;
  /** Default `cni.sock` beside them. */
  readonly socketPath?: string;
  /** Of the node: a Windows node's pods are shown the network that HNS would make. */
  readonly os: 'linux' | 'windows';
  /** Default 1500. */
  readonly mtu?: number;
}

export interface CniDaemon {
  readonly plugin: CniPlugin;
  readonly socketPath: string;
  close(): Promise<void>;
}

export async function startCniDaemon(options: CniDaemonOptions): Promise<CniDaemon> {
  const { host, files, dataDir, log } = options;
  const plugin = createCniPlugin(
    {
      links: host.links,
      packetFilter: host.packetFilter,
      store: createAttachmentStore(files, `${dataDir}/attachments`),
      log,
      linksInside: async (path) =>
        (await files.stat(path)) === undefined ? undefined : host.inside(path).links,
    },
    {
      shape: options.os === 'windows' ? 'l2bridge' : 'routed',
      ...(options.mtu === undefined ? {} : { mtu: options.mtu }),
    },
  );
  await plugin.start();
  const socketPath = options.socketPath ?? `${dataDir}/cni.sock`;
  if (Buffer.byteLength(socketPath) > maxSocketPathBytes)
    throw new Error(`${socketPath} is too long for a socket: at most ${maxSocketPathBytes} bytes`);
  await files.remove(socketPath);
  const server: UnixExchangeServer = await serveUnixExchanges({
    path: socketPath,
    maxQuestionBytes,
    idleTimeoutMs,
    answer: (question) => answerCni(plugin, question, log),
  });
  await files.changeMode(socketPath, 0o600);
  return { plugin, socketPath, close: () => server.close() };
}

const conflistName = '10-porthole.conflist';

/** One for each node of the machine: what the runtime's library remembers is told apart by it. */
export const networkNameOf = (confDir: string): string => `porthole-${contentKey([confDir])}`;

function renderConflist(name: string): string {
  const plugin = { type: 'porthole', capabilities: { portMappings: true } };
  return `${JSON.stringify({ cniVersion: '1.0.0', name, plugins: [plugin] }, undefined, 2)}\n`;
}

async function replaceFile(
  files: Files,
  path: string,
  data: string | Uint8Array,
  mode: number,
): Promise<void> {
  await files.write(`${path}.new`, data, { mode });
  await files.rename(`${path}.new`, path);
}

/**
 * Puts the compiled client into containerd's `bin_dir` as `porthole` and as `loopback` (containerd before 2.0 runs
 * that for each sandbox), the way to the daemon's socket beside it, and the configuration into `conf_dir`. The
 * configuration comes last: with it containerd reports NetworkReady.
 */
export async function installCni(
  files: Files,
  options: { client: string; binDir: string; confDir: string; socketPath: string },
): Promise<void> {
  const { client, binDir, confDir, socketPath } = options;
  await files.makeDirectory(binDir, 0o755);
  await files.makeDirectory(confDir, 0o755);
  const program = await files.read(client);
  await replaceFile(files, `${binDir}/porthole`, program, 0o755);
  await replaceFile(files, `${binDir}/loopback`, program, 0o755);
  await files.remove(`${binDir}/porthole.sock`);
  await files.symlink(socketPath, `${binDir}/porthole.sock`);
  await replaceFile(files, `${confDir}/${conflistName}`, renderConflist(networkNameOf(confDir)), 0o644);
}
