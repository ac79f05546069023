// Answers that a browser takes as a WebSocket: a log, as upstream's wsstream.Reader; a watch, a message for each event.
import { acceptWebSocket, offeredProtocols } from '../../wire/websocket.ts';
import type { ApiRequest, ApiResponse, PullBody } from '../http.ts';
import { hijacked } from './upgrade-proxy.ts';

/** As upstream: who wants base64 says so, all others get bytes. */
const base64Protocol = 'base64.binary.k8s.io';
const readerProtocols: readonly string[] = ['binary.k8s.io', base64Protocol];
const pulledBytes = 64 * 1024;

/** Makes messages of the bytes that come; keeps what is no whole one yet. */
interface MessageFraming {
  messages(chunk: Buffer): (Buffer | string)[];
}

/** Every event of a watch in JSON ends with the only line end in it. */
class LineFraming implements MessageFraming {
  #parts: Buffer[] = [];
  messages(chunk: Buffer): string[] {
    const found: string[] = [];
    let from = 0;
    for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, from)) {
      found.push(Buffer.concat([...this.#parts, chunk.subarray(from, at + 1)]).toString());
      this.#parts = [];
      from = at + 1;
    }
    if (from < chunk.length) this.#parts.push(chunk.subarray(from));
    return found;
  }
}

const lengthBytes = 4;

/** Every event of a watch in protobuf has its length before it, which a message need not say. */
class LengthFraming implements MessageFraming {
  #parts: Buffer[] = [];
  #size = 0;
  #wanted = lengthBytes;
  messages(chunk: Buffer): Buffer[] {
    this.#parts.push(chunk);
    this.#size += chunk.length;
    if (this.#size < this.#wanted) return [];
    let rest: Buffer = Buffer.concat(this.#parts);
    const found: Buffer[] = [];
    this.#wanted = lengthBytes;
    while (rest.length >= lengthBytes) {
      this.#wanted = lengthBytes + rest.readUInt32BE(0);
      if (rest.length < this.#wanted) break;
      found.push(rest.subarray(lengthBytes, this.#wanted));
      rest = rest.subarray(this.#wanted);
      this.#wanted = lengthBytes;
    }
    this.#parts = [rest];
    this.#size = rest.length;
    return found;
  }
}

const bytesAsTheyAre: MessageFraming = { messages: (chunk) => [chunk] };
const inBase64: MessageFraming = { messages: (chunk) => [chunk.toString('base64')] };

/** `body` as an upgraded client takes it: a log. */
export function logByWebSocket(request: ApiRequest, body: PullBody): Promise<ApiResponse> {
  return streamed(request, body, readerProtocols, (protocol) =>
    protocol === base64Protocol ? inBase64 : bytesAsTheyAre,
  );
}

/** A watch names no protocol of its own: whatever the client offers is taken, as upstream does. */
export function watchByWebSocket(
  request: ApiRequest,
  body: PullBody,
  mediaType: 'json' | 'protobuf',
): Promise<ApiResponse> {
  const framing = mediaType === 'json' ? new LineFraming() : new LengthFraming();
  return streamed(request, body, offeredProtocols(request).slice(0, 1), () => framing);
}

async function streamed(
  request: ApiRequest,
  body: PullBody,
  protocols: readonly string[],
  framingOf: (protocol: string) => MessageFraming,
): Promise<ApiResponse> {
  const ws = await acceptWebSocket(request, protocols);
  if (!ws) {
    body.close();
    return hijacked;
  }
  let gone = false;
  let wake = (): void => {};
  ws.onClose = () => {
    gone = true;
    body.close();
    wake();
  };
  const framing = framingOf(ws.protocol);
  const pass = async (): Promise<void> => {
    while (!gone) {
      const chunk = body.pull(pulledBytes);
      if (chunk === null) break;
      if (chunk === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          body.onReady(resolve);
        });
        continue;
      }
      for (const message of framing.messages(chunk)) if (!ws.send(message)) await ws.drained();
    }
  };
  // The connection is no HTTP any more: whoever waits for the answer has it, and the stream goes on by itself.
  pass()
    .then(
      () => ws.close(1000, ''),
      () => ws.terminate(),
    )
    .finally(() => body.close());
  return hijacked;
}
