// When an answer has been given: a whole one at once, a stream when it was read or given up, a connection when it is closed.
import { type HttpRequest, type HttpResponse, isPullBody, type PullBody } from './http-message.ts';

/** The same body; `ended` is called when it has been read or given up. */
export class EndingBody implements PullBody {
  readonly #body: PullBody;
  readonly #ended: () => void;

  constructor(body: PullBody, ended: () => void) {
    this.#body = body;
    this.#ended = ended;
  }

  get stallMs(): number | undefined {
    return this.#body.stallMs;
  }
  get initialized(): Promise<void> | undefined {
    return this.#body.initialized;
  }
  pull(maxBytes: number): Buffer | undefined | null {
    const bytes = this.#body.pull(maxBytes);
    if (bytes === null) this.#ended();
    return bytes;
  }
  onReady(callback: () => void): void {
    this.#body.onReady(callback);
  }
  close(): void {
    this.#ended();
    this.#body.close();
  }
}

/** The same answer; `ended` is called, once or more, when its client has it or has left. */
export function untilGiven(
  { upgrade }: Pick<HttpRequest, 'upgrade'>,
  response: HttpResponse,
  ended: () => void,
): HttpResponse {
  if (response.hijacked === true && upgrade !== undefined && !upgrade.socket.destroyed) {
    upgrade.socket.once('close', ended);
    return response;
  }
  if (isPullBody(response.body)) return { ...response, body: new EndingBody(response.body, ended) };
  ended();
  return response;
}
