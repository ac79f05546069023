// exec and attach over WebSocket, translated to SPDY toward the kubelet: upstream's StreamTranslator.
import type { BackendTarget } from '../../wire/backend.ts';
import { SpdyConnection, type SpdyStream } from '../../wire/spdy.ts';
import { type AcceptedWebSocket, acceptWebSocket } from '../../wire/websocket.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { upgradeToSpdy } from './spdy-upgrade.ts';
import { hijacked } from './upgrade-proxy.ts';

export interface RemoteCommandStreams {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

const channels = { stdin: 0, stdout: 1, stderr: 2, error: 3, resize: 4, close: 255 } as const;
export const remoteCommandProtocols: readonly string[] = [
  'v5.channel.k8s.io',
  'v4.channel.k8s.io',
  'v4.base64.channel.k8s.io',
  'channel.k8s.io',
  'base64.channel.k8s.io',
];
const subprotocol = 'v4.channel.k8s.io';
/** The end of a command as an object, by channel 3; older protocols know no more than the message of a failure. */
const withStatus: readonly string[] = ['v5.channel.k8s.io', 'v4.channel.k8s.io', 'v4.base64.channel.k8s.io'];
const maxStatusBytes = 64 * 1024;

/** Opens the kubelet's side first, so that its refusal is an answer and not a broken WebSocket. */
export async function translateRemoteCommand(
  request: ApiRequest,
  target: BackendTarget,
  path: string,
  streams: RemoteCommandStreams,
): Promise<ApiResponse> {
  const answer = await upgradeToSpdy(target, path, subprotocol);
  const spdy = new SpdyConnection(answer.socket, answer.head);
  const ws = await acceptWebSocket(request, remoteCommandProtocols);
  if (!ws) {
    spdy.close();
    return hijacked;
  }
  try {
    await join(ws, spdy, streams);
  } catch {
    // The kubelet's side went away before all streams were open; the client's connection is no HTTP any more.
    ws.terminate();
    spdy.close();
  }
  return hijacked;
}

class Framing {
  readonly #ws: AcceptedWebSocket;
  readonly #base64: boolean;
  constructor(ws: AcceptedWebSocket) {
    this.#ws = ws;
    this.#base64 = ws.protocol.includes('base64');
  }
  send(channel: number, data: Buffer): boolean {
    if (this.#base64) return this.#ws.send(String(channel) + data.toString('base64'));
    return this.#ws.send(Buffer.concat([Buffer.from([channel]), data]));
  }
  /** Channel and bytes of a message; undefined for one that is no message of the protocol. */
  read(data: Buffer): { readonly channel: number; readonly data: Buffer } | undefined {
    if (data.length === 0) return undefined;
    if (!this.#base64) return { channel: data[0]!, data: data.subarray(1) };
    return { channel: data[0]! - 0x30, data: Buffer.from(data.subarray(1).toString('latin1'), 'base64') };
  }
}

/** As upstream's v1WriteStatusFunc. */
function failureMessage(status: string): string {
  try {
    const { status: outcome, message } = JSON.parse(status) as { status?: unknown; message?: unknown };
    if (outcome === 'Success') return '';
    return typeof message === 'string' ? message : status;
  } catch {
    return status;
  }
}

interface StreamReader {
  onData(data: Buffer): void;
  onEnd(): void;
}

/** The kubelet's status as clients of before v4 read it. */
function statusAsMessage(reader: StreamReader): StreamReader {
  let status = Buffer.alloc(0);
  return {
    onData: (data) => {
      status = Buffer.concat([status, data]).subarray(0, maxStatusBytes);
    },
    onEnd: () => {
      const message = status.length === 0 ? '' : failureMessage(status.toString());
      if (message !== '') reader.onData(Buffer.from(message));
      reader.onEnd();
    },
  };
}

async function join(
  ws: AcceptedWebSocket,
  spdy: SpdyConnection,
  wanted: RemoteCommandStreams,
): Promise<void> {
  const framing = new Framing(ws);
  let open = 0;
  const finish = (): void => {
    ws.close(1000, '');
    spdy.close();
  };
  const reader = (channel: number): StreamReader => {
    open++;
    return {
      onData: (data: Buffer): void => {
        if (framing.send(channel, data)) return;
        spdy.pause();
        void ws.drained().then(() => spdy.resume());
      },
      onEnd: (): void => {
        open--;
        if (open === 0) finish();
      },
    };
  };
  const nobody = { onData: (): void => {}, onEnd: (): void => {} };
  ws.onClose = () => spdy.close();
  spdy.onClose = () => ws.close(1000, '');
  // Messages that come before all streams are open wait in the socket.
  ws.pause();
  const early: Buffer[] = [];
  ws.onMessage = (data) => void early.push(data);
  const errors = reader(channels.error);
  await spdy.createStream(
    { streamType: 'error' },
    withStatus.includes(ws.protocol) ? errors : statusAsMessage(errors),
  );
  const stdin = wanted.stdin ? await spdy.createStream({ streamType: 'stdin' }, nobody) : undefined;
  if (wanted.stdout) await spdy.createStream({ streamType: 'stdout' }, reader(channels.stdout));
  if (wanted.stderr && !wanted.tty)
    await spdy.createStream({ streamType: 'stderr' }, reader(channels.stderr));
  const resize = wanted.tty ? await spdy.createStream({ streamType: 'resize' }, nobody) : undefined;
  const handle = (message: Buffer): void => onMessage(framing.read(message), { ws, spdy, stdin, resize });
  ws.onMessage = handle;
  for (const message of early) handle(message);
  // Tells the client that the streams are ready, on the lowest channel that it reads.
  framing.send(
    wanted.stdout ? channels.stdout : wanted.stderr ? channels.stderr : channels.error,
    Buffer.alloc(0),
  );
  ws.resume();
}

interface Ends {
  readonly ws: AcceptedWebSocket;
  readonly spdy: SpdyConnection;
  readonly stdin: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
}

function onMessage(
  message: { readonly channel: number; readonly data: Buffer } | undefined,
  ends: Ends,
): void {
  if (!message) return;
  const { ws, spdy, stdin, resize } = ends;
  switch (message.channel) {
    case channels.stdin: {
      if (!stdin || message.data.length === 0) return;
      if (stdin.write(message.data)) return;
      ws.pause();
      spdy.onDrain(() => ws.resume());
      return;
    }
    case channels.resize:
      if (message.data.length > 0) resize?.write(message.data);
      return;
    case channels.close:
      // v5: the client says that a stream of its own is over; without it stdin could never end.
      if (ws.protocol === 'v5.channel.k8s.io' && message.data[0] === channels.stdin) stdin?.end();
      return;
    default:
      return;
  }
}
