// Runs one probe once: a command, an HTTP request, a TCP connection or a gRPC health check.

import type { ExecAction, Pod, Probe } from '../../api/generated/types/core-v1.ts';
import { longestTimerMs } from '../../base/clock.ts';
import { hostPort } from '../../base/ip.ts';
import { isGrpcError } from '../../wire/grpc-client.ts';
import { probeGrpcHealth } from '../../wire/probe-grpc.ts';
import { probeHttp } from '../../wire/probe-http.ts';
import { probeTcp } from '../../wire/probe-tcp.ts';
import { type AnyContainer, failureText } from '../pod-format.ts';
import type { Commands } from '../runtime/commands.ts';
import { resolvePort } from '../runtime/lifecycle-hooks.ts';

export interface ProbeOutcome {
  readonly ok: boolean;
  /** What went wrong, or a warning. */
  readonly output: string;
  /** The probe itself failed: neither success nor failure of the container. */
  readonly unknown?: boolean;
}

export interface ProbeTarget {
  readonly pod: Pod;
  readonly container: AnyContainer;
  readonly containerId: string;
  readonly podIP: string;
}

/** Upstream's maxReadLength. */
const maxRead = 10 * 1024;
/** Upstream's maxProbeMessageLength. */
const maxOutput = 1024;

async function exec(
  commands: Commands,
  { pod, containerId }: ProbeTarget,
  { command = [] }: ExecAction,
  timeoutSeconds: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  try {
    const result = await commands.probe({ pod, containerId, command, timeoutSeconds }, signal);
    const [stdout, stderr] = [result.stdout, result.stderr].map((bytes) => bytes.subarray(0, maxRead));
    const output = Buffer.concat([stdout!, stderr!]).toString('utf8').slice(0, maxRead);
    return { ok: result.exitCode === 0, output };
  } catch (error) {
    if (isGrpcError(error, 'DeadlineExceeded')) {
      return {
        ok: false,
        output: `command timed out: "${command.join(' ')}" timed out after ${timeoutSeconds}s`,
      };
    }
    return { ok: false, output: failureText(error), unknown: true };
  }
}

async function http(
  target: ProbeTarget,
  probe: Probe,
  timeoutMs: number,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const get = probe.httpGet!;
  const request = {
    scheme: get.scheme === 'HTTPS' ? ('HTTPS' as const) : ('HTTP' as const),
    host: get.host || target.podIP,
    port: resolvePort(target.container, get.port),
    path: get.path ?? '/',
    headers: get.httpHeaders ?? [],
    userAgent: 'kube-probe/1.36',
    timeoutMs,
  };
  const result = await probeHttp(request, signal);
  if (result.error !== undefined) return { ok: false, output: result.error };
  if (result.status >= 200 && result.status < 400) return { ok: true, output: result.body };
  return { ok: false, output: `HTTP probe failed with statuscode: ${result.status}` };
}

/** Never throws for what the container does; with a wrong port name nothing is known of it. `signal`: nobody wants to know any more. */
export async function runProbe(
  commands: Commands,
  target: ProbeTarget,
  probe: Probe,
  signal: AbortSignal,
): Promise<ProbeOutcome> {
  const timeoutSeconds = probe.timeoutSeconds ?? 1;
  const timeoutMs = Math.min(timeoutSeconds * 1000, longestTimerMs);
  try {
    if (probe.exec) return await exec(commands, target, probe.exec, timeoutSeconds, signal);
    if (probe.httpGet) return await http(target, probe, timeoutMs, signal);
    if (probe.tcpSocket) {
      const port = resolvePort(target.container, probe.tcpSocket.port);
      const host = probe.tcpSocket.host || target.podIP;
      const failure = await probeTcp({ host, port, timeoutMs }, signal);
      return { ok: failure === undefined, output: failure ?? '' };
    }
    if (probe.grpc) {
      const address = hostPort(target.podIP, probe.grpc.port);
      const failure = await probeGrpcHealth(
        { address, service: probe.grpc.service ?? '', timeoutMs },
        signal,
      );
      return { ok: failure === undefined, output: failure ?? '' };
    }
    return { ok: true, output: '', unknown: true };
  } catch (error) {
    return { ok: false, output: failureText(error), unknown: true };
  }
}

export const shownOutput = (text: string): string => text.slice(0, maxOutput);
