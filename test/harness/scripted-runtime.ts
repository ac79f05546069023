// A runtime that writes down what it is told to do, and whose calls hang while a test says so: until they are cancelled.
import type { Clock } from '../../src/base/clock.ts';
import type { Cri, RuntimeService } from '../../src/rpc-api/cri.ts';
import { GrpcError } from '../../src/wire/grpc-client.ts';

type Arguments = readonly unknown[];

const nameIn = (config: unknown): string => (config as { metadata: { name: string } }).metadata.name;

/** What changes something, and what of its arguments is worth reading; `names` are those of containers. */
const acts: Readonly<Record<string, (given: Arguments, names: ReadonlyMap<unknown, string>) => string>> = {
  runPodSandbox: () => '',
  stopPodSandbox: () => '',
  removePodSandbox: () => '',
  createContainer: ([, config]) => nameIn(config),
  startContainer: ([id], names) => names.get(id) ?? '',
  stopContainer: ([id, seconds], names) => `${names.get(id)} ${seconds}s`,
  removeContainer: ([id], names) => names.get(id) ?? '',
  execSync: ([, command]) => (command as readonly string[]).join(' '),
  pullImage: ([spec]) => (spec as { image: string }).image,
};

export class ScriptedRuntime {
  readonly cri: Cri;
  /** In this order. */
  readonly said: string[] = [];
  readonly #names = new Map<unknown, string>();
  readonly #hanging = new Map<string, number>();
  readonly #failing = new Map<string, string>();
  readonly #clock: Clock;

  constructor(real: Cri, clock: Clock) {
    this.#clock = clock;
    const quiet = { exitCode: 0, stdout: new Uint8Array(), stderr: new Uint8Array() };
    const runtime: RuntimeService = { ...real.runtime, execSync: async () => quiet };
    this.cri = { runtime: this.#written(runtime), images: this.#written(real.images) };
  }

  /** Each such call, until it is healed. */
  fail(call: string, message: string): void {
    if (!(call in acts)) throw new Error(`no such call: ${call}`);
    this.#failing.set(call, message);
  }
  heal(): void {
    this.#failing.clear();
  }

  /** Of each such call, for so many seconds; a stop never longer than its own time-out. */
  hang(call: string, seconds: number): void {
    if (!(call in acts)) throw new Error(`no such call: ${call}`);
    this.#hanging.set(call, seconds);
  }

  #written<T extends object>(port: T): T {
    return new Proxy(port, {
      get: (target, name) => {
        const method = Reflect.get(target, name) as (...given: Arguments) => Promise<unknown>;
        const detail = acts[String(name)];
        if (detail === undefined) return method;
        return async (...given: Arguments) => {
          const text = `${String(name)} ${detail(given, this.#names)}`.trim();
          this.said.push(text);
          const seconds = this.#hanging.get(String(name));
          if (seconds !== undefined) await this.#hang(text, given, seconds);
          const failure = this.#failing.get(String(name));
          if (failure !== undefined) throw new GrpcError('', 'Unknown', failure);
          const answer = await method.apply(target, [...given]);
          if (name === 'createContainer') this.#names.set(answer, nameIn(given[1]));
          return answer;
        };
      },
    });
  }

  async #hang(text: string, given: Arguments, most: number): Promise<void> {
    const signal = given.find((one) => one instanceof AbortSignal);
    if (!signal) throw new Error(`${text} can't be cancelled`);
    const seconds = text.startsWith('stopContainer') ? Math.min(most, Number(given[1])) : most;
    try {
      await this.#clock.sleep(seconds * 1000, signal);
    } catch (error) {
      this.said.push(`${text}: cancelled`);
      throw error;
    }
  }
}
