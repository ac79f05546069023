// Which path of the kubelet's server is answered by what.
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import { podAsTold } from '../pod-status.ts';
import { containerLogs } from './container-logs-handler.ts';
import { metrics } from './metrics-handler.ts';
import type { RequestPath } from './request-attributes.ts';
import { jsonResponse, type KubeletServerDeps, type Route, type RouteInput, textResponse } from './route.ts';
import { statsSummary } from './stats-handler.ts';
import { attach, exec, portForward, run } from './streaming-session.ts';

function podsOf({ deps }: RouteInput): HttpResponse {
  const items = deps.workers.list().map((w) => podAsTold(w.pod, deps.ctx.status.get(w.uid)));
  return jsonResponse({ kind: 'PodList', apiVersion: 'v1', metadata: {}, items });
}

async function healthz({ deps }: RouteInput): Promise<HttpResponse> {
  try {
    await deps.ctx.cri.runtime.version();
    return textResponse(200, 'ok');
  } catch {
    return textResponse(500, 'the container runtime does not answer');
  }
}

const routes: Readonly<Record<string, Route>> = Object.assign(Object.create(null), {
  containerLogs,
  exec,
  attach,
  portForward,
  run,
  pods: async (input: RouteInput) => podsOf(input),
  runningpods: async (input: RouteInput) => podsOf(input),
  healthz,
  stats: statsSummary,
  metrics,
});

export async function routeRequest(
  deps: KubeletServerDeps,
  request: HttpRequest,
  { parts, query }: RequestPath,
): Promise<HttpResponse> {
  const route = routes[parts[0] ?? ''];
  if (!route) return textResponse(404, '404 page not found\n');
  return route({ deps, request, parts: parts.slice(1), query });
}
