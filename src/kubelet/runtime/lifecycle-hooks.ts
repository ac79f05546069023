// Runs postStart and preStop: a command, an HTTP request or a pause.
import type { LifecycleHandler, Pod } from '../../api/generated/types/core-v1.ts';
import type { Clock } from '../../base/clock.ts';
import { probeHttp } from '../../wire/probe-http.ts';
import { type AnyContainer, failureText, podText } from '../pod-format.ts';
import type { CommandAnswer, Commands } from './commands.ts';

/** A named port of the container, or the number. */
export function resolvePort(container: AnyContainer, port: number | string): number {
  if (typeof port === 'number') return port;
  const named = (container.ports ?? []).find((p) => p.name === port)?.containerPort;
  if (named !== undefined) return named;
  const value = Number(port);
  if (Number.isInteger(value) && value > 0 && value < 65536) return value;
  throw new Error(`couldn't find port: "${port}" in container ${container.name}`);
}

export interface HookInput {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly containerId: string;
  readonly podIP: string;
  readonly handler: LifecycleHandler;
  /** Nobody waits for it any more. */
  readonly signal: AbortSignal;
}

/** Of a failed command, for its event. */
const maxOutput = 1024;

export interface HookDeps {
  readonly commands: Commands;
  readonly clock: Clock;
}

async function runExec(deps: HookDeps, input: HookInput, command: readonly string[]): Promise<void> {
  const where = `for Container "${input.container.name}" in Pod "${podText(input.pod)}" failed`;
  const shown = `[${command.join(' ')}]`;
  const { pod, containerId, signal } = input;
  let result: CommandAnswer;
  try {
    result = await deps.commands.hook({ pod, containerId, command, timeoutSeconds: 0 }, signal);
  } catch (error) {
    throw new Error(`Exec lifecycle hook (${shown}) ${where} - error: ${failureText(error)}, message: ""`);
  }
  if (result.exitCode === 0) return;
  const shownBytes = [result.stdout, result.stderr].map((bytes) => bytes.subarray(0, maxOutput));
  const output = Buffer.concat(shownBytes).toString('utf8').slice(0, maxOutput);
  throw new Error(
    `Exec lifecycle hook (${shown}) ${where} - error: command '${command.join(' ')}' exited with ${result.exitCode}: ${output}, message: ${JSON.stringify(output)}`,
  );
}

/** Throws Error with upstream's text when the hook fails. */
export async function runHook(deps: HookDeps, input: HookInput): Promise<void> {
  const { handler, container } = input;
  if (handler.exec) return runExec(deps, input, handler.exec.command ?? []);
  if (handler.sleep) return deps.clock.sleep(Number(handler.sleep.seconds) * 1000, input.signal);
  if (!handler.httpGet) return undefined;
  const get = handler.httpGet;
  const port = resolvePort(container, get.port);
  const path = get.path ?? '/';
  const request = {
    scheme: get.scheme === 'HTTPS' ? ('HTTPS' as const) : ('HTTP' as const),
    host: get.host || input.podIP,
    port,
    path,
    headers: get.httpHeaders ?? [],
    userAgent: 'kube-lifecycle/1.36',
    timeoutMs: 30_000,
  };
  const result = await probeHttp(request, input.signal);
  if (result.error !== undefined || result.status >= 400) {
    const text = result.error ?? `HTTP hook failed with statuscode: ${result.status}`;
    throw new Error(
      `HTTP lifecycle hook (${path}) for Container "${container.name}" in Pod "${podText(input.pod)}" failed - error: ${text}`,
    );
  }
}
