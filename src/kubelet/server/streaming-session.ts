// exec, attach, portForward and run: the runtime gives an address on loopback, and the bytes pass through.
import type { HttpResponse } from '../../wire/http-message.ts';
import { passUpgradeThrough } from '../../wire/upgrade-passthrough.ts';
import { type ObservedContainer, readySandbox } from '../observed-pod.ts';
import { failureText } from '../pod-format.ts';
import { type RouteInput, textResponse } from './route.ts';

const isTrue = (text: string | null): boolean => text === 'true' || text === '1';

/** Old clients say `input`, `output`, `error`; newer ones the streams' names. */
function streamsOf(query: URLSearchParams): {
  stdin: boolean;
  stdout: boolean;
  stderr: boolean;
  tty: boolean;
} {
  const tty = isTrue(query.get('tty'));
  return {
    stdin: isTrue(query.get('stdin')) || isTrue(query.get('input')),
    stdout: isTrue(query.get('stdout')) || isTrue(query.get('output')),
    stderr: !tty && (isTrue(query.get('stderr')) || isTrue(query.get('error'))),
    tty,
  };
}

/** `{namespace}/{pod}/{container}`, with the uid between pod and container in the old form. */
function running({ deps, parts }: RouteInput): ObservedContainer | HttpResponse {
  const [namespace = '', podName = ''] = parts;
  const name = parts.length > 3 ? parts[3]! : (parts[2] ?? '');
  const worker = deps.workers.find(namespace, podName);
  if (!worker) return textResponse(404, `pod does not exist`);
  const found = worker.observed.containers.find((c) => c.name === name && c.state === 'running');
  return found ?? textResponse(404, `container not found ("${name}")`);
}

async function passTo(
  input: RouteInput,
  url: () => Promise<string>,
  over: () => boolean,
): Promise<HttpResponse> {
  const { request } = input;
  if (!request.upgrade) return textResponse(400, 'unable to upgrade: missing upgrade headers in request\n');
  let target: string;
  try {
    target = await url();
  } catch (error) {
    return textResponse(500, `${failureText(error)}\n`);
  }
  return passUpgradeThrough(request, target, over);
}

/** Of a session: its container, as it was found, runs no more. containerd may keep the session all the same. */
const containerEnded = (input: RouteInput, container: ObservedContainer) => (): boolean => {
  const now = running(input);
  return 'status' in now || now.id !== container.id;
};

export async function exec(input: RouteInput): Promise<HttpResponse> {
  const container = running(input);
  if ('status' in container) return container;
  const cmd = input.query.getAll('command');
  const { runtime } = input.deps.ctx.cri;
  return passTo(
    input,
    () => runtime.exec({ containerId: container.id, cmd, ...streamsOf(input.query) }),
    containerEnded(input, container),
  );
}

export async function attach(input: RouteInput): Promise<HttpResponse> {
  const container = running(input);
  if ('status' in container) return container;
  const { runtime } = input.deps.ctx.cri;
  return passTo(
    input,
    () => runtime.attach({ containerId: container.id, ...streamsOf(input.query) }),
    containerEnded(input, container),
  );
}

export async function portForward(input: RouteInput): Promise<HttpResponse> {
  const [namespace = '', podName = ''] = input.parts;
  const worker = input.deps.workers.find(namespace, podName);
  const sandbox = worker && readySandbox(worker.observed);
  if (!worker) return textResponse(404, 'pod does not exist');
  if (!sandbox) return textResponse(500, `failed to find sandbox for pod "${podName}"\n`);
  const port = input.query
    .getAll('port')
    .flatMap((p) => p.split(','))
    .map(Number)
    .filter((p) => Number.isInteger(p) && p > 0 && p < 65_536);
  const { runtime } = input.deps.ctx.cri;
  const ended = (): boolean => {
    const now = input.deps.workers.find(namespace, podName);
    return !now || readySandbox(now.observed)?.id !== sandbox.id;
  };
  return passTo(input, () => runtime.portForward({ podSandboxId: sandbox.id, port }), ended);
}

/** POST /run/{namespace}/{pod}/{container}?cmd=…: runs to the end, answers the output. */
export async function run(input: RouteInput): Promise<HttpResponse> {
  if (input.request.method !== 'POST') return textResponse(405, '405: Method Not Allowed\n');
  const container = running(input);
  if ('status' in container) return container;
  const command = (input.query.get('cmd') ?? '').split(' ').filter((w) => w !== '');
  if (command.length === 0) return textResponse(400, 'missing cmd\n');
  try {
    const result = await input.deps.ctx.cri.runtime.execSync(container.id, command, 0);
    return {
      status: 200,
      headers: { 'content-type': 'text/plain; charset=utf-8' },
      body: Buffer.concat([result.stdout, result.stderr]),
    };
  } catch (error) {
    return textResponse(500, `${failureText(error)}\n`);
  }
}
