// A real API server over memory storage in one call, for integration tests: in process, or on a port.
import { createScheme } from '../../api/scheme.ts';
import type { Scheme } from '../../apimachinery/declaration.ts';
import { silentLogger } from '../../component-base/logger.ts';
import { createMetrics } from '../../component-base/metrics.ts';
import { systemClock } from '../../component-base/system-clock.ts';
import { systemRandom } from '../../component-base/system-random.ts';
import { version } from '../../component-base/version.ts';
import { MemoryStorage } from '../../storage/memory/memory-storage.ts';
import type { Storage } from '../../storage/storage.ts';
import { createCacheSource } from '../../storage/watch/cache-source.ts';
import { createHttpServer, type ServerTls } from '../../wire/http-server.ts';
import type { UserInfo } from '../authentication/authenticator.ts';
import type { ApiRequest, ApiResponse } from '../http.ts';
import { type ApiServer, createApiServer } from '../server.ts';
import type { ApiServerConfig } from '../server-config.ts';
import { wholeBody } from './whole-body.ts';

export const admin: UserInfo = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };

export interface TestServerOptions extends Partial<ApiServerConfig> {
  readonly storage?: Storage;
  /** Listens on a free port of 127.0.0.1: 'plain' is HTTP/1.1, else TLS with both. */
  readonly listen?: ServerTls | 'plain';
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: ApiResponse['headers'];
  readonly text: string;
  /** The body as JSON. */
  json(): Record<string, unknown>;
}

export interface TestServer {
  readonly api: ApiServer;
  readonly storage: Storage;
  /** 0 when it does not listen. */
  readonly port: number;
  /** A request as `user` (the administrator), in process. */
  request(method: string, url: string, body?: unknown, options?: RequestOptions): Promise<TestAnswer>;
  handle(method: string, url: string, body?: unknown, options?: RequestOptions): Promise<ApiResponse>;
  close(): Promise<void>;
}

export interface RequestOptions {
  readonly headers?: Readonly<Record<string, string>>;
  readonly user?: UserInfo | undefined;
  readonly signal?: AbortSignal;
}

function apiRequest(method: string, url: string, body: unknown, options: RequestOptions = {}): ApiRequest {
  const bytes =
    body === undefined
      ? Buffer.alloc(0)
      : Buffer.isBuffer(body)
        ? body
        : Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
  return {
    method,
    url,
    headers: options.headers ?? {},
    readBody: async () => bytes,
    signal: options.signal ?? new AbortController().signal,
    remoteAddress: '127.0.0.1',
    user: 'user' in options ? options.user : admin,
  };
}

export async function startTestServer(options: TestServerOptions = {}): Promise<TestServer> {
  const { storage: given, listen, ...overrides } = options;
  const clock = options.clock ?? systemClock;
  const storage = given ?? new MemoryStorage(clock);
  const caches = overrides.caches ?? (await createCacheSource(storage, clock));
  const scheme: Scheme = overrides.scheme ?? createScheme();
  const api = createApiServer({
    scheme,
    caches,
    clock,
    random: systemRandom,
    log: silentLogger,
    metrics: createMetrics(),
    authenticator: { authenticate: () => (listen === undefined ? undefined : admin) },
    authorizer: {
      authorize: ({ user }) => ({
        decision: user.groups.includes('system:masters') ? 'allow' : 'no-opinion',
        reason: '',
      }),
    },
    admission: [],
    version,
    ...overrides,
  });
  const server =
    listen === undefined
      ? undefined
      : createHttpServer({ handler: (r) => api.handle(r), tls: listen === 'plain' ? undefined : listen });
  const port = server ? (await server.listen(0, '127.0.0.1')).port : 0;
  const handle: TestServer['handle'] = (method, url, body, requestOptions) =>
    api.handle(apiRequest(method, url, body, requestOptions));
  return {
    api,
    storage,
    port,
    handle,
    async request(method, url, body, requestOptions) {
      const response = await handle(method, url, body, requestOptions);
      const text = (await wholeBody(response.body)).toString();
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: () => JSON.parse(text) as Record<string, unknown>,
      };
    },
    async close() {
      await server?.close(1000);
      if ('close' in caches) (caches as unknown as { close(): void }).close();
      await storage.close();
    },
  };
}
