// How the scheduler reaches its extenders: JSON by POST, over HTTP or HTTPS, for as long as the configuration says.
import { readFileSync } from 'node:fs';
import type { ExtenderConfiguration } from '../../scheduler/config/scheduler-configuration.ts';
import type { AskExtender } from '../../scheduler/extender.ts';
import { HttpsClient, type HttpsTarget } from '../../wire/https-client.ts';

/** All nodes of a large cluster come back. */
const maxAnswerBytes = 64 * 1024 * 1024;
const headers = { 'content-type': 'application/json' } as const;

interface Answer {
  readonly status: number;
  readonly text: string;
}

function pem(tls: Readonly<Record<string, unknown>>, name: 'ca' | 'cert' | 'key'): string | undefined {
  const [data, file] = [tls[`${name}Data`], tls[`${name}File`]];
  if (typeof data === 'string' && data !== '') return Buffer.from(data, 'base64').toString('utf8');
  return typeof file === 'string' && file !== '' ? readFileSync(file, 'utf8') : undefined;
}

/** Throws where nobody could say who answers. */
function targetOf(url: URL, { tlsConfig = {} }: ExtenderConfiguration): HttpsTarget {
  const [ca, certificate, key] = [pem(tlsConfig, 'ca'), pem(tlsConfig, 'cert'), pem(tlsConfig, 'key')];
  if (tlsConfig['insecure'] === true)
    throw new Error(`${url.origin}: tlsConfig.insecure would believe whoever answers, and is refused`);
  const serverName = tlsConfig['serverName'];
  return {
    host: url.hostname.startsWith('[') ? url.hostname.slice(1, -1) : url.hostname,
    port: url.port === '' ? 443 : Number(url.port),
    serverName: typeof serverName === 'string' && serverName !== '' ? serverName : undefined,
    ca,
    ...(certificate !== undefined && key !== undefined ? { client: { certificate, key } } : {}),
  };
}

async function overHttp(url: URL, body: string, signal: AbortSignal): Promise<Answer> {
  const answer = await fetch(url, { method: 'POST', headers, body, signal, redirect: 'manual' });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of answer.body ?? []) {
    size += chunk.length;
    if (size > maxAnswerBytes) throw new Error(`${url.origin}: the answer is too long`);
    chunks.push(chunk);
  }
  return { status: answer.status, text: Buffer.concat(chunks).toString('utf8') };
}

export function extenderClient(configuration: ExtenderConfiguration): AskExtender {
  const https = new HttpsClient({ maxAnswerBytes, maxConnections: 4, maxAllConnections: 4 });
  return async (text, body) => {
    const url = new URL(text);
    const json = JSON.stringify(body);
    const signal = AbortSignal.timeout(configuration.httpTimeoutMs);
    const secure = configuration.enableHTTPS || url.protocol === 'https:';
    let answer: Answer;
    if (secure) {
      const path = `${url.pathname}${url.search}`;
      const got = await https.ask(targetOf(url, configuration), {
        method: 'POST',
        path,
        headers,
        body: json,
        signal,
      });
      answer = { status: got.status, text: got.body.toString('utf8') };
    } else answer = await overHttp(url, json, signal);
    if (answer.status !== 200)
      throw new Error(
        `failed ${url.pathname.split('/').at(-1)} with extender at URL ${text}, code ${answer.status}`,
      );
    return JSON.parse(answer.text);
  };
}
