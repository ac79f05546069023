// What a handler of the kubelet's server is given, and how it answers.
import type { MetricsRegistry } from '../../component-base/metrics.ts';
import type { Host } from '../../os/host.ts';
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import type { KubeletContext } from '../kubelet-context.ts';
import type { PodWorkers } from '../pod-workers.ts';

export interface KubeletServerDeps {
  readonly ctx: KubeletContext;
  readonly workers: PodWorkers;
  readonly host: Pick<Host, 'files' | 'stats'>;
  /** By path below /metrics; '' is /metrics itself. */
  readonly metrics: Readonly<Record<'' | 'probes', MetricsRegistry>>;
}

export interface RouteInput {
  readonly deps: KubeletServerDeps;
  readonly request: HttpRequest;
  /** Decoded parts after the first one. */
  readonly parts: readonly string[];
  readonly query: URLSearchParams;
}

export type Route = (input: RouteInput) => Promise<HttpResponse>;

export const textResponse = (status: number, text: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8', 'x-content-type-options': 'nosniff' },
  body: Buffer.from(text),
});

export const jsonResponse = (value: unknown): HttpResponse => ({
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: Buffer.from(JSON.stringify(value)),
});
