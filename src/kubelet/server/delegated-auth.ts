// Who may use the kubelet's server: a client certificate of the cluster's CA, and the right to nodes/proxy and its parts.
import { subjectaccessreviews } from '../../api/generated/resources.ts';
import type { HttpRequest, HttpResponse } from '../../wire/http-message.ts';
import type { KubeletContext } from '../kubelet-context.ts';

export interface KubeletAuthOptions {
  /** Names that need no review: the API server's own client certificate. */
  readonly trustedUsers?: readonly string[];
}

const allowMs = 300_000;
const denyMs = 30_000;
const maxRemembered = 1000;
const remembered = new WeakMap<
  KubeletContext,
  Map<string, { readonly allowed: boolean; readonly untilMs: number }>
>();

const verbs: Readonly<Record<string, string>> = {
  GET: 'get',
  HEAD: 'get',
  POST: 'create',
  PUT: 'update',
  PATCH: 'patch',
  DELETE: 'delete',
};

/** Upstream's fine-grained subresources (KubeletFineGrainedAuthz): what was nodes/proxy for all is its own right too. */
function subresourceOf(path: string): string {
  if (path.startsWith('/stats')) return 'stats';
  if (path.startsWith('/metrics')) return 'metrics';
  if (path.startsWith('/logs')) return 'log';
  if (path === '/pods' || path === '/runningpods/') return 'pods';
  if (path.startsWith('/healthz')) return 'healthz';
  return 'proxy';
}

const refusal = (status: number, text: string): HttpResponse => ({
  status,
  headers: { 'content-type': 'text/plain; charset=utf-8' },
  body: Buffer.from(text),
});

async function review(
  ctx: KubeletContext,
  user: { readonly name: string; readonly groups: readonly string[] },
  attributes: { readonly verb: string; readonly subresource: string },
): Promise<boolean> {
  const body = {
    metadata: {},
    spec: {
      user: user.name,
      groups: [...user.groups, 'system:authenticated'],
      resourceAttributes: {
        verb: attributes.verb,
        version: 'v1',
        resource: 'nodes',
        subresource: attributes.subresource,
        name: ctx.nodeName,
      },
    },
  };
  const answer = await ctx.client.create(subjectaccessreviews, body);
  return answer.status?.allowed === true;
}

async function mayDo(
  ctx: KubeletContext,
  user: { readonly name: string; readonly groups: readonly string[] },
  attributes: { readonly verb: string; readonly subresource: string },
): Promise<boolean> {
  const known = remembered.get(ctx) ?? new Map<string, { allowed: boolean; untilMs: number }>();
  remembered.set(ctx, known);
  const key = JSON.stringify([user, attributes]);
  const now = ctx.clock.now();
  const hit = known.get(key);
  if (hit && hit.untilMs > now) return hit.allowed;
  const allowed =
    (await review(ctx, user, attributes)) ||
    (attributes.subresource !== 'proxy' &&
      (await review(ctx, user, { ...attributes, subresource: 'proxy' })));
  if (known.size >= maxRemembered) known.clear();
  known.set(key, { allowed, untilMs: now + (allowed ? allowMs : denyMs) });
  return allowed;
}

/** Undefined: go on; else the answer that refuses. */
export async function authorizeRequest(
  ctx: KubeletContext,
  request: HttpRequest,
  options: KubeletAuthOptions,
): Promise<HttpResponse | undefined> {
  const subject = request.clientCertificate?.subject;
  if (!subject?.CN) return refusal(401, 'Unauthorized');
  if (subject.O.includes('system:masters') || options.trustedUsers?.includes(subject.CN)) return undefined;
  const path = request.url.split('?')[0]!;
  const verb = Object.hasOwn(verbs, request.method) ? verbs[request.method]! : 'get';
  const subresource = subresourceOf(path);
  const user = { name: subject.CN, groups: subject.O };
  if (await mayDo(ctx, user, { verb, subresource })) return undefined;
  return refusal(
    403,
    `Forbidden (user=${subject.CN}, verb=${verb}, resource=nodes, subresource(s)=[${subresource === 'proxy' ? 'proxy' : `${subresource} proxy`}])\n`,
  );
}
