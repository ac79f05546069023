// GET /containerLogs/{namespace}/{pod}/{container}: a container's log, as the API's pods/log asks for it.
import type { HttpResponse, PullBody } from '../../wire/http-message.ts';
import { pullBodyOf } from '../../wire/pull-body.ts';
import { findContainer } from '../pod-format.ts';
import { type LogOptions, streamLog } from './container-log-stream.ts';
import { type RouteInput, textResponse } from './route.ts';

const isTrue = (text: string | null): boolean => text === 'true' || text === '1';

function wholeNumber(query: URLSearchParams, name: string): number | undefined {
  const text = query.get(name);
  if (text === null || text === '') return undefined;
  const value = Number(text);
  if (!Number.isInteger(value) || value < 0) throw new Error(`${name} must be a whole number, not negative`);
  return value;
}

function optionsOf(query: URLSearchParams, nowMs: number): LogOptions {
  const sinceSeconds = wholeNumber(query, 'sinceSeconds');
  const sinceTime = query.get('sinceTime');
  const sinceMs =
    sinceSeconds !== undefined ? nowMs - sinceSeconds * 1000 : sinceTime ? Date.parse(sinceTime) : undefined;
  if (sinceMs !== undefined && Number.isNaN(sinceMs)) throw new Error('sinceTime is not RFC 3339');
  const stream = query.get('stream');
  return {
    follow: isTrue(query.get('follow')),
    timestamps: isTrue(query.get('timestamps')),
    tailLines: wholeNumber(query, 'tailLines'),
    limitBytes: wholeNumber(query, 'limitBytes'),
    sinceMs,
    stream: stream === 'Stdout' ? 'stdout' : stream === 'Stderr' ? 'stderr' : undefined,
  };
}

export async function containerLogs({ deps, request, parts, query }: RouteInput): Promise<HttpResponse> {
  const [namespace = '', podName = '', name = ''] = parts;
  const worker = deps.workers.find(namespace, podName);
  if (!worker) return textResponse(404, `pod "${podName}" does not exist\n`);
  if (!findContainer(worker.pod, name)) {
    return textResponse(404, `container "${name}" not found in pod "${podName}"\n`);
  }
  let options: LogOptions;
  try {
    options = optionsOf(query, deps.ctx.clock.now());
  } catch (error) {
    return textResponse(400, `${(error as Error).message}\n`);
  }
  const previous = isTrue(query.get('previous'));
  const all = worker.observed.containers.filter((c) => c.name === name && c.state !== 'created');
  const chosen = previous
    ? all.filter((c) => c.state === 'exited')[all[0]?.state === 'exited' && all.length > 1 ? 1 : 0]
    : all[0];
  if (!chosen) {
    if (previous)
      return textResponse(400, `previous terminated container "${name}" in pod "${podName}" not found`);
    const why = deps.ctx.status.get(worker.uid)?.containerStatuses?.find((s) => s.name === name)?.state
      ?.waiting?.reason;
    const tail = why === undefined ? 'waiting to start' : `waiting to start: ${why}`;
    return textResponse(400, `container "${name}" in pod "${podName}" is ${tail}`);
  }
  const isRunning = (): boolean =>
    !request.signal.aborted &&
    worker.observed.containers.some((c) => c.id === chosen.id && c.state === 'running');
  const stop = new AbortController();
  const bytes = streamLog(
    { files: deps.host.files, clock: deps.ctx.clock, isRunning },
    chosen.logPath,
    options,
    AbortSignal.any([request.signal, stop.signal]),
  );
  const body: PullBody = pullBodyOf(bytes, () => stop.abort());
  return { status: 200, headers: { 'content-type': 'text/plain; charset=utf-8' }, body };
}
