// Which path of the kubelet's server is answered by what.
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import { containerLogs } from './container-logs-handler.ts';
import { jsonResponse, type KubeletServerDeps, type Route, type RouteInput, textResponse } from './route.ts';
import { metricsResource, statsSummary } from './stats-handler.ts';
import { attach, exec, portForward, run } from './streaming-session.ts';

function podsOf({ deps }: RouteInput): HttpResponse {
  const items = deps.workers.list().map((w) => {
    const status = deps.ctx.status.get(w.uid);
    return status ? { ...w.pod, status } : w.pod;
  });
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
  metrics: metricsResource,
});

export async function routeRequest(deps: KubeletServerDeps, request: HttpRequest): Promise<HttpResponse> {
  const [path = '', search = ''] = request.url.split('?', 2) as [string, string?];
  let parts: string[];
  try {
    parts = path.split('/').slice(1).map(decodeURIComponent);
  } catch {
    return textResponse(400, 'the path is not URL-encoded\n');
  }
  const route = routes[parts[0] ?? ''];
  if (!route) return textResponse(404, '404 page not found\n');
  return route({ deps, request, parts: parts.slice(1), query: new URLSearchParams(search) });
}
