// Reads YAML in a thread of its own when it is long: that costs fifty times what handing it over does.
import { Worker } from 'node:worker_threads';
import { loadOnce } from '../base/load-once.ts';
import type { YamlBody } from '../base/yaml.ts';

export type YamlAnswer = YamlBody | { readonly error: string };

export interface YamlThread {
  /** The first document as JSON. Rejects with what is wrong with it. */
  read(text: string): Promise<YamlBody>;
  close(): Promise<void>;
}

/** Shorter ones are read at once: some twenty milliseconds at worst. */
const leastLength = 16 << 10;
/** A thread that nobody needs is let go, and its memory with it. */
const idleMs = 10_000;
/** The largest that is allowed takes a second. */
const patienceMs = 60_000;
const resourceLimits = { maxOldGenerationSizeMb: 512, maxYoungGenerationSizeMb: 64 };
const tooMuch = 'the document is too complex';

const reader = loadOnce(() => import('../base/yaml.ts'));

interface Reading extends PromiseWithResolvers<YamlBody> {
  readonly text: string;
}

class Thread implements YamlThread {
  readonly #script: URL;
  readonly #patience: number;
  readonly #waiting: Reading[] = [];
  #reading: Reading | undefined;
  #worker: Worker | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(script: URL, patience: number) {
    this.#script = script;
    this.#patience = patience;
  }

  async read(text: string): Promise<YamlBody> {
    if (text.length < leastLength) return (await reader()).readYamlBody(text);
    const reading = { text, ...Promise.withResolvers<YamlBody>() };
    this.#waiting.push(reading);
    this.#next();
    return reading.promise;
  }

  async close(): Promise<void> {
    for (const { reject } of this.#waiting.splice(0)) reject(new Error('the server is ending'));
    if (this.#worker) await this.#end(this.#worker);
  }

  #next(): void {
    if (this.#reading) return;
    clearTimeout(this.#timer);
    this.#reading = this.#waiting.shift();
    const worker = this.#worker ?? (this.#reading ? this.#start() : undefined);
    if (worker === undefined) return;
    if (this.#reading) worker.postMessage(this.#reading.text);
    // Who hangs is ended as who is idle: what it was to read is refused.
    this.#timer = setTimeout(() => void this.#end(worker), this.#reading ? this.#patience : idleMs).unref();
  }

  async #end(worker: Worker): Promise<void> {
    this.#lose(worker);
    await worker.terminate();
  }

  #start(): Worker {
    const worker = new Worker(this.#script, { name: 'yaml', resourceLimits });
    worker.unref();
    worker.on('message', (answer: YamlAnswer) => {
      // One that was given up may still have answered: that is not what the next one reads.
      if (worker !== this.#worker) return;
      const reading = this.#reading;
      this.#reading = undefined;
      if ('json' in answer) reading?.resolve(answer);
      else reading?.reject(new Error(answer.error));
      this.#next();
    });
    worker.on('error', () => this.#lose(worker));
    worker.on('exit', () => this.#lose(worker));
    this.#worker = worker;
    return worker;
  }

  /** What comes next has another one. */
  #lose(worker: Worker): void {
    if (worker !== this.#worker) return;
    clearTimeout(this.#timer);
    this.#worker = undefined;
    this.#reading?.reject(new Error(tooMuch));
    this.#reading = undefined;
    this.#next();
  }
}

export const createYamlThread = (
  script: URL = new URL('./yaml-worker.ts', import.meta.url),
  patience: number = patienceMs,
): YamlThread => new Thread(script, patience);
