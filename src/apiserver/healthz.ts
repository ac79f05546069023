// /livez, /readyz and /healthz: the checks by name, in words as upstream prints them.
import type { ApiResponse } from './http.ts';
import type { RequestContext } from './request-context.ts';
import { notFoundPage, textResponse } from './response.ts';

export interface HealthCheck {
  readonly name: string;
  /** Throws when it is not well. */
  check(): Promise<void> | void;
  /** Which of the three paths ask it; default all. */
  readonly paths?: readonly string[];
}

export const healthPaths: readonly string[] = ['livez', 'readyz', 'healthz'];

export async function healthResponse(
  context: RequestContext,
  checks: readonly HealthCheck[],
): Promise<ApiResponse> {
  const [path = '', only, ...rest] = context.info.path.replace(/^\/|\/$/g, '').split('/');
  const asked = checks.filter((c) => c.paths === undefined || c.paths.includes(path));
  if (rest.length > 0) return notFoundPage();
  if (only !== undefined) {
    const one = asked.find((c) => c.name === only);
    if (!one) return notFoundPage();
    const failure = await failureOf(one);
    return failure === undefined
      ? textResponse(200, 'ok')
      : textResponse(500, `internal server error: ${failure}\n`);
  }
  const excluded = new Set(context.query.getAll('exclude'));
  const lines: string[] = [];
  let failed = false;
  for (const check of asked) {
    if (excluded.has(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
      continue;
    }
    if ((await failureOf(check)) === undefined) lines.push(`[+]${check.name} ok`);
    else {
      failed = true;
      lines.push(`[-]${check.name} failed: reason withheld`);
    }
  }
  if (failed) return textResponse(500, `${lines.join('\n')}\n${path} check failed\n`);
  return context.query.has('verbose')
    ? textResponse(200, `${lines.join('\n')}\n${path} check passed\n`)
    : textResponse(200, 'ok');
}

async function failureOf(check: HealthCheck): Promise<string | undefined> {
  try {
    await check.check();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
