// Requests under way, whatever protocol they came by: each gets one answer, and the server's end waits for them.
import { discardBody, type HttpRequest, type HttpResponse } from './http-message.ts';

const broken: HttpResponse = {
  status: 500,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from('This request caused apiserver to panic. Look in the logs for details.\n'),
};

export interface AnswersOptions {
  readonly handler: (request: HttpRequest) => Promise<HttpResponse>;
  readonly onError: (error: unknown, where: string) => void;
}

export class Answers {
  readonly #options: AnswersOptions;
  readonly #streams = new Set<() => void>();
  #underWay = 0;
  #idle: (() => void) | undefined;
  #isClosing = false;

  constructor(options: AnswersOptions) {
    this.#options = options;
  }

  /** What is asked from now on is the last of its connection. */
  get isClosing(): boolean {
    return this.#isClosing;
  }

  began(): void {
    this.#underWay++;
  }

  readonly ended = (): void => {
    this.#underWay--;
    if (this.#underWay === 0) this.#idle?.();
  };

  /** An answer that goes on: how to end it. Answers how to say that it has ended. */
  readonly streams = (end: () => void): (() => void) => {
    if (this.#isClosing) queueMicrotask(end);
    this.#streams.add(end);
    return () => void this.#streams.delete(end);
  };

  /** Never rejects: what fails is told to `onError`, the client is cut, and the answer's body is closed. */
  async answer(
    request: HttpRequest,
    respond: (response: HttpResponse) => void,
    cut: () => void,
  ): Promise<void> {
    const { handler, onError } = this.#options;
    let response = broken;
    try {
      response = await (request.refusal ?? handler(request));
    } catch (error) {
      onError(error, 'handler');
    }
    try {
      respond(response);
    } catch (error) {
      discardBody(response.body);
      onError(error, 'respond');
      cut();
    }
  }

  /** Ends what goes on. */
  close(): void {
    this.#isClosing = true;
    for (const end of [...this.#streams]) end();
  }

  /** Resolves when nothing is under way, or when that took too long. */
  async given(graceMs: number): Promise<void> {
    if (this.#underWay === 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, graceMs);
      this.#idle = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}
