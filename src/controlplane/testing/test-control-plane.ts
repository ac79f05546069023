// A whole control plane over memory storage, without sockets: what integration tests talk to.
import { createScheme } from '../../api/scheme.ts';
import type { Scheme } from '../../apimachinery/declaration.ts';
import { isObject } from '../../apimachinery/json-access.ts';
import type { UserInfo } from '../../apiserver/authentication/authenticator.ts';
import type { ApiRequest, ApiResponse } from '../../apiserver/http.ts';
import { wholeBody } from '../../apiserver/testing/whole-body.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { createMetrics, type MetricsRegistry } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { createCacheSource } from '../../storage/watch/cache-source.ts';
import { type ControlPlane, type ControlPlaneOptions, createControlPlane } from '../control-plane.ts';
import { objectLifetimes } from '../object-lifetimes.ts';
import { openPki, type Pki } from '../pki.ts';

export interface Answer {
  readonly status: number;
  readonly text: string;
  readonly bytes: Buffer;
  readonly body: Record<string, unknown>;
  /** `status.message` of a failure. */
  readonly message: string;
  /** Each `Warning` header. */
  readonly warnings: readonly string[];
  readonly headers: ApiResponse['headers'];
}

export interface AskOptions {
  readonly user?: UserInfo;
  /** A credential instead of a user: goes through authentication. */
  readonly token?: string;
  readonly anonymous?: true;
  /** Default: JSON, or a merge patch. */
  readonly contentType?: string;
  readonly accept?: string;
  readonly userAgent?: string;
}

export interface TestControlPlane {
  readonly controlPlane: ControlPlane;
  readonly storage: Storage;
  readonly pki: Pki;
  readonly metrics: MetricsRegistry;
  /**
   * A request as the administrator, unless said otherwise. A custom resource may leave out what it is: the path says it.
   * What is sent as bytes is sent as it is.
   */
  ask(method: string, url: string, body?: unknown, options?: AskOptions): Promise<Answer>;
  close(): Promise<void>;
}

export const administrator: UserInfo = {
  name: 'kubernetes-admin',
  groups: ['system:masters', 'system:authenticated'],
};

export const user = (name: string, ...groups: string[]): UserInfo => ({
  name,
  groups: [...groups, 'system:authenticated'],
});

const { signal } = new AbortController();

function requestOf(method: string, url: string, body: unknown, how: AskOptions): ApiRequest {
  const bytes = Buffer.isBuffer(body) ? body : Buffer.from(body === undefined ? '' : JSON.stringify(body));
  const contentType =
    how.contentType ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json');
  return {
    method,
    url,
    headers: {
      ...(body === undefined ? {} : { 'content-type': contentType }),
      ...(how.accept === undefined ? {} : { accept: how.accept }),
      ...(how.userAgent === undefined ? {} : { 'user-agent': how.userAgent }),
      ...(how.token === undefined ? {} : { authorization: `Bearer ${how.token}` }),
    },
    readBody: async () => bytes,
    signal,
    remoteAddress: '192.0.2.7',
    ...(how.token === undefined && how.anonymous === undefined ? { user: how.user ?? administrator } : {}),
  };
}

const customPath =
  /^\/apis\/([^/?]+)\/([^/?]+)\/(?:namespaces\/[^/?]+\/)?([^/?]+)(?:\/[^/?]+(?:\/status)?)?(?:\?|$)/;

/** The body with the kind that a server tells of the resource in the path, if the body names none and the kind is not built in. */
async function withKind(
  controlPlane: ControlPlane,
  builtIn: Scheme,
  { method, url, body }: { readonly method: string; readonly url: string; readonly body: unknown },
): Promise<unknown> {
  if ((method !== 'POST' && method !== 'PUT') || Buffer.isBuffer(body) || !isObject(body)) return body;
  if (body['kind'] !== undefined && body['apiVersion'] !== undefined) return body;
  const [, group = '', version = '', plural] = customPath.exec(url) ?? [];
  if (plural === undefined || builtIn.resources().some((resource) => resource.group === group)) return body;
  const told = await controlPlane.handle(requestOf('GET', `/apis/${group}/${version}`, undefined, {}));
  if (told.status !== 200) return body;
  const { resources } = JSON.parse((await wholeBody(told.body)).toString()) as {
    resources: { readonly name: string; readonly kind: string }[];
  };
  const kind = resources.find(({ name }) => name === plural)?.kind;
  return kind === undefined ? body : { apiVersion: `${group}/${version}`, kind, ...body };
}

export async function startTestControlPlane(
  options: Partial<ControlPlaneOptions> & { readonly storage?: Storage; readonly pki?: Pki } = {},
): Promise<TestControlPlane> {
  const clock = options.clock ?? systemClock;
  const storage = options.storage ?? new MemoryStorage(clock);
  const files = new Map<string, string>();
  const pki =
    options.pki ??
    (await openPki(
      { read: (name) => files.get(name), write: (name, text) => void files.set(name, text) },
      clock,
    ));
  const caches = await createCacheSource(storage, clock, { lifetimes: objectLifetimes() });
  const metrics = options.metrics ?? createMetrics();
  const scheme = options.scheme ?? createScheme();
  const controlPlane = await createControlPlane({
    scheme,
    caches,
    clock,
    random: systemRandom,
    log: silentLogger,
    metrics,
    serviceAccountKey: pki.serviceAccountKey,
    authorities: pki.authorities,
    serviceCidr: '10.96.0.0/16',
    clusterDomain: 'cluster.local',
    advertiseAddress: '192.0.2.1',
    securePort: 6443,
    ...options,
  });
  return {
    controlPlane,
    storage,
    pki,
    metrics,
    async ask(method, url, body, how = {}) {
      const sent = await withKind(controlPlane, scheme, { method, url, body });
      const response = await controlPlane.handle(requestOf(method, url, sent, how));
      const bytes = await wholeBody(response.body);
      const text = bytes.toString();
      const isStream = response.status === 200 && url.includes('watch=');
      const json: unknown = text.startsWith('{') && !isStream ? JSON.parse(text) : {};
      const parsed = json as Record<string, unknown>;
      const warnings = [response.headers['warning'] ?? []].flat();
      return {
        status: response.status,
        text,
        bytes,
        body: parsed,
        message: String(parsed.message ?? ''),
        warnings,
        headers: response.headers,
      };
    },
    async close() {
      controlPlane.close();
      caches.close();
      await storage.close();
    },
  };
}
